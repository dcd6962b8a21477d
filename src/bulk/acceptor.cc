#include "bulk/acceptor.h"

#include <algorithm>

#include "bulk/lane.h"
#include "bulk/stream_thread.h"

namespace pounce::bulk {
namespace {

constexpr std::size_t kMostNewcomers = 64;  // sixteen clients that connect at once

}  // namespace

Result<std::unique_ptr<Acceptor>> Acceptor::bind(const std::string& endpoint) {
  auto listener = tls::Listener::bind(endpoint, stream_options(), kMostNewcomers);
  if (!listener) return failure(std::move(listener.error()));
  return std::unique_ptr<Acceptor>(new Acceptor(std::move(*listener)));
}

std::vector<tls::Credential> Acceptor::keys_for(const std::string& client) {
  forget(client);
  std::vector<tls::Credential> credentials;
  for (unsigned i = 0; i < most_streams(); ++i) {
    tls::Credential ours = tls::make_credential();
    given_.emplace_back(ours.id, client);
    tls::Credential& theirs = credentials.emplace_back(tls::Credential{ours.id, {}});
    theirs.key.bytes() = ours.key.bytes();
    listener_->announce(std::move(ours));
  }
  return credentials;
}

void Acceptor::take_keys(const std::string& client, std::vector<tls::Credential> credentials) {
  for (tls::Credential& one : credentials) {
    given_.emplace_back(one.id, client);
    listener_->announce(std::move(one));
  }
}

void Acceptor::forget(const std::string& client) {
  forget_if([&](const std::string& name) { return name == client; });
}

void Acceptor::forget_all(const std::string& beginning) {
  forget_if([&](const std::string& name) { return name.starts_with(beginning); });
}

void Acceptor::forget_if(const std::function<bool(const std::string&)>& is_meant) {
  std::erase_if(given_, [&](const auto& one) {
    if (!is_meant(one.second)) return false;
    listener_->forget(one.first);
    return true;
  });
}

std::optional<std::pair<std::string, std::unique_ptr<tls::Channel>>> Acceptor::accept() {
  while (auto channel = listener_->accept()) {
    const auto given = std::ranges::find(given_, channel->peer(), &std::pair<tls::PeerId, std::string>::first);
    if (given == given_.end()) continue;
    auto client = std::move(given->second);
    given_.erase(given);
    return std::pair(std::move(client), std::move(channel));
  }
  return std::nullopt;
}

}  // namespace pounce::bulk
