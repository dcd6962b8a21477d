#include "worker/interpreter/peer_memory.h"

#include <algorithm>
#include <chrono>

#include "bulk/lane.h"
#include "protocol/codec.h"
#include "protocol/message_limits.h"

namespace pounce::worker {
namespace {

constexpr std::chrono::seconds kLongest{2};  // for a source that is there but does not answer

// The name of the first key also appears in clear text on the lane. It only finds the source; it proves nothing.
std::optional<PublicKey> address_of(std::string_view keys) {
  const auto credentials = bulk::credentials_of(keys);
  if (!credentials || credentials->empty()) return std::nullopt;
  PublicKey address;
  std::ranges::copy(credentials->front().id.bytes(), address.bytes.begin());
  return address;
}

}  // namespace

void PeerMemory::serve(const SessionId& session, const std::string& reader, std::string_view keys, ObjectOffer lying) {
  end_serving(session, reader);
  const auto address = address_of(keys);
  if (!address || !lying.block || !lying.block->freeze()) return;
  auto server = transport::LocalServer::listen(*address, protocol::kDataFrameBytes);
  if (server) serving_.emplace(std::pair(session, reader), Serving{std::move(server), std::move(lying)});
}

bool PeerMemory::take(const SessionId& session, const Wanted& wanted, TimePoint now) {
  end_taking(session, wanted.object.object);
  const auto address = address_of(wanted.keys);
  auto channel = address ? transport::LocalChannel::connect(*address, protocol::kDataFrameBytes) : nullptr;
  if (!channel) return false;
  transport::Message message;
  message.push_back(transport::Frame::copy(protocol::encode(protocol::Serve{wanted.object.object, {}})));
  if (channel->send(message) != transport::Sent::kYes) return false;
  channel->flush();
  channel->link_event();  // consumes the event that it is connected
  taking_.emplace(std::pair(session, wanted.object.object), Taking{std::move(channel), wanted, now + kLongest});
  return true;
}

void PeerMemory::stop_taking(const SessionId& session) {
  std::erase_if(taking_, [&](const auto& entry) { return entry.first.first == session; });
}

void PeerMemory::close(const SessionId& session) {
  stop_taking(session);
  std::erase_if(serving_, [&](const auto& entry) { return entry.first.first == session; });
}

void PeerMemory::add_to(transport::PollSet& polled) {
  for (auto& [key, serving] : serving_) serving.server->add_to(polled);
  for (const auto& [key, taking] : taking_) polled.add_fd(taking.channel->fd(), taking.channel->unsent());
}

void PeerMemory::accept_waiting(const transport::PollSet& polled) {
  for (auto& [key, serving] : serving_) {
    serving.server->accept_waiting(polled);
    answer(serving);
  }
}

void PeerMemory::answer(Serving& serving) {
  while (auto request = serving.server->receive()) {
    const auto header = protocol::decode(request->frames.front().text(), protocol::kHeaderBytes);
    const auto* wants = header ? std::get_if<protocol::Serve>(&*header) : nullptr;
    if (wants == nullptr || wants->object != serving.lying.object) {
      serving.server->cut(request->route);
      continue;
    }
    protocol::Object object{serving.lying.object, serving.lying.sizes, serving.lying.places,
                            serving.lying.pickle_follows};
    transport::Message message;
    message.push_back(transport::Frame::copy(protocol::encode(object)));
    message.push_back(transport::Frame{});  // the reader has the pickle already
    message.push_back(transport::Frame::share(serving.lying.block));
    serving.server->send(request->route, message);
  }
  serving.server->flush();
}

TimePoint PeerMemory::next_deadline() const {
  TimePoint first = TimePoint::max();
  for (const auto& [key, taking] : taking_) first = std::min(first, taking.until);
  return first;
}

std::vector<PeerMemory::Event> PeerMemory::events(TimePoint now) {
  std::vector<Event> all;
  for (auto one = taking_.begin(); one != taking_.end();) {
    Taking& taking = one->second;
    const auto message = taking.channel->receive();
    const bool is_lost = !message && taking.channel->link_event() == transport::Link::kDisconnected;
    if (!message && !is_lost && now < taking.until) {
      ++one;
      continue;
    }
    auto object = message ? came(taking.wanted, *message) : std::nullopt;
    all.push_back({one->first.first, std::move(taking.wanted), std::move(object)});
    one = taking_.erase(one);
  }
  return all;
}

// Two workers share only memory that can no longer be written.
std::optional<ObjectOffer> PeerMemory::came(const Wanted& wanted, const transport::Message& message) {
  const auto header = protocol::decode(message.front().text(), protocol::kHeaderBytes);
  const auto* object = header ? std::get_if<protocol::Object>(&*header) : nullptr;
  const bool fits = object != nullptr && message.size() == 3 && message[2].block() && message[2].block()->frozen() &&
                    object->object == wanted.object.object && object->buffers == wanted.object.buffers;
  if (!fits) return std::nullopt;
  return ObjectOffer{object->object,     wanted.pickle, object->buffers, wanted.object.pickle_follows,
                     message[2].block(), object->places};
}

}  // namespace pounce::worker
