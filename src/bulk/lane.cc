#include "bulk/lane.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/threads.h"

namespace pounce::bulk {
namespace {

// One more stream for each of these: with less, it would hardly have begun when the others are done.
constexpr std::uint64_t kWorthAStream = 64 * 1024 * 1024;
constexpr std::size_t kIdBytes = tls::PeerId::kBytes, kKeyBytes = 32;

}  // namespace

unsigned most_streams() { return static_cast<unsigned>(std::min<std::size_t>(processors(), 4)); }

Lane::Lane(std::string endpoint, std::vector<tls::Credential> credentials)
    : exchange_(std::make_shared<Exchange>()), endpoint_(std::move(endpoint)), credentials_(std::move(credentials)) {}

void Lane::add(std::unique_ptr<tls::Channel> accepted) {
  exchange_->stands();
  if (auto thread = StreamThread::start(exchange_, std::move(accepted), StreamThread::Begins::kStanding))
    threads_.push_back(std::move(thread));
}

void Lane::offer(const std::string& of, std::vector<Bytes> buffers) {
  const auto bytes = std::accumulate(buffers.begin(), buffers.end(), std::uint64_t{0},
                                     [](auto sum, const Bytes& one) { return sum + one.bytes.size(); });
  exchange_->offer(of, std::move(buffers));
  connect_for(bytes);
}

void Lane::fetch(const std::string& of, std::vector<Target> targets, Position from) {
  exchange_->fetch(of, std::move(targets), from);
  connect_for(exchange_->bytes_left());
  for (const auto& thread : threads_) thread->wake();
}

void Lane::connect_for(std::uint64_t bytes) {
  const std::size_t wanted = std::min<std::uint64_t>(1 + bytes / kWorthAStream, most_streams());
  while (threads_.size() < wanted && !credentials_.empty()) {
    const tls::Credential credential = std::move(credentials_.back());
    credentials_.pop_back();
    auto channel = tls::Channel::connect(endpoint_, credential, stream_options());
    auto thread =
        channel ? StreamThread::start(exchange_, std::move(*channel), StreamThread::Begins::kConnecting) : nullptr;
    if (thread) {
      threads_.push_back(std::move(thread));
      continue;
    }
    if (threads_.empty()) exchange_->lost("no descriptor or thread for a connection", false);
    return credentials_.clear();  // use the connections that there are
  }
}

std::string to_bytes(const std::vector<tls::Credential>& credentials) {
  std::string bytes;
  for (const tls::Credential& one : credentials) {
    bytes.append(reinterpret_cast<const char*>(one.id.bytes().data()), kIdBytes);
    bytes.append(reinterpret_cast<const char*>(one.key.bytes().data()), kKeyBytes);
  }
  return bytes;
}

std::string new_keys(std::size_t streams) {
  std::vector<tls::Credential> credentials;
  for (std::size_t i = 0; i < streams; ++i) credentials.push_back(tls::make_credential());
  return to_bytes(credentials);
}

std::optional<std::vector<tls::Credential>> credentials_of(std::string_view bytes) {
  if (bytes.empty() || bytes.size() % (kIdBytes + kKeyBytes) != 0) return std::nullopt;
  std::vector<tls::Credential> credentials;
  for (; !bytes.empty(); bytes.remove_prefix(kIdBytes + kKeyBytes)) {
    tls::Credential& one = credentials.emplace_back();
    std::array<std::uint8_t, kIdBytes> id{};
    std::memcpy(id.data(), bytes.data(), kIdBytes);
    one.id = tls::PeerId(id);
    std::memcpy(one.key.bytes().data(), bytes.data() + kIdBytes, kKeyBytes);
  }
  return credentials;
}

}  // namespace pounce::bulk
