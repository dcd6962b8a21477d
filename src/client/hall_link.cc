#include "client/hall_link.h"

#include <algorithm>

#include "pounce/version.h"
#include "protocol/codec.h"
#include "protocol/limits.h"

namespace pounce::client {
namespace {

using protocol::Header;

// pounced answers a hello at once; a stopped one is asked for anew.
constexpr std::chrono::seconds kHandshake{10};
// Beats that may go unanswered before pounced counts as gone.
constexpr int kSilentBeats = 3;

std::string local_door(const protocol::EndpointFile& endpoint) {
  const auto ipc = std::ranges::find_if(endpoint.door, [](const std::string& at) { return at.starts_with("ipc://"); });
  return ipc == endpoint.door.end() ? std::string{} : *ipc;
}

std::int64_t nanoseconds(TimePoint when) { return when.time_since_epoch().count(); }

}  // namespace

HallLink::HallLink(transport::Context& context, const KeyPair& keys, protocol::OpenSession session)
    : context_(context), keys_(keys), session_(std::move(session)) {}

bool HallLink::connect(const protocol::EndpointFile& endpoint, TimePoint now) {
  disconnect();
  const auto key = transport::from_z85(endpoint.key);
  const std::string door = local_door(endpoint);
  if (!key || door.empty()) return false;
  daemon_key_ = *key;
  enter(Stage::kDoor, door, now);
  if (down()) return false;
  protocol::Hello hello;
  hello.key = transport::to_z85(keys_.public_key);
  hello.session = session_.session.hex();
  hello.version = kVersion;
  post(hello, /*with_proof=*/true);
  return true;
}

void HallLink::disconnect() {
  socket_.reset();
  descriptors_ = {};
  outbox_.clear();
  stage_ = Stage::kDown;
}

void HallLink::enter(Stage stage, const std::string& endpoint, TimePoint now) {
  outbox_.clear();
  heard_ = now;
  transport::ClientOptions options;
  options.max_frame_bytes = protocol::kHallMessageBytes;
  auto socket = transport::DealerSocket::connect(context_, keys_, daemon_key_, options, endpoint);
  socket_ = socket ? std::move(*socket) : nullptr;
  descriptors_ = Descriptors(socket_.get());
  stage_ = socket_ == nullptr ? Stage::kDown : stage;
}

void HallLink::send(const Header& header) {
  if (!open()) return;
  post(header);
  flush();
}

std::vector<HallEvent> HallLink::pump(TimePoint now) {
  std::vector<HallEvent> events;
  keep_time(now, events);
  // Until the socket has nothing and takes nothing, and only then does its descriptor tell of the next change.
  bool went_on = true;
  while (socket_ != nullptr && went_on) {
    went_on = false;
    if (const auto link = socket_->link_event()) {
      follow_link(*link, now, events);
      went_on = true;
    } else if (socket_->ready(!outbox_.empty())) {
      if (auto message = socket_->receive()) take(std::move(*message), now, events);
      flush();
      went_on = true;
    }
  }
  descriptors_.stale = false;
  return events;
}

void HallLink::take(transport::Message message, TimePoint now, std::vector<HallEvent>& events) {
  heard_ = now;
  auto header = protocol::decode(message.front().text(), protocol::kHallMessageBytes);
  if (!header) return;  // of a newer daemon, perhaps: ignored, its errors come as Refused
  if (stage_ == Stage::kDoor) return take_at_door(*header, now, events);
  if (const auto* beat = std::get_if<protocol::Beat>(&*header)) {
    if (!beat->answer) send(protocol::Beat{true, beat->sent_ns, nanoseconds(now)});
    return;
  }
  events.emplace_back(std::move(*header));
}

void HallLink::take_at_door(const Header& header, TimePoint now, std::vector<HallEvent>& events) {
  if (const auto* refused = std::get_if<protocol::Refused>(&header)) {
    disconnect();
    events.emplace_back(HallRefused{refused->error});
  } else if (const auto* welcome = std::get_if<protocol::Welcome>(&header); welcome && !welcome->hall.empty()) {
    heartbeat_ = std::chrono::milliseconds(std::max(100u, welcome->heartbeat_ms));
    enter(Stage::kHall, welcome->hall.front(), now);
    post(session_);
  }
}

void HallLink::follow_link(transport::Link link, TimePoint now, std::vector<HallEvent>& events) {
  switch (link) {
    case transport::Link::kConnected:
      flush();
      if (stage_ != Stage::kHall) return;
      stage_ = Stage::kOpen;
      ++openings_;
      beat_due_ = now + heartbeat_;
      events.emplace_back(HallOpened{});
      return;
    case transport::Link::kDisconnected:
      // The door closes behind a welcomed guest; before that, and in the hall, it means that pounced has gone.
    case transport::Link::kRefused:
      return lose(events);
  }
}

void HallLink::lose(std::vector<HallEvent>& events) {
  disconnect();
  events.emplace_back(HallLost{});
}

void HallLink::keep_time(TimePoint now, std::vector<HallEvent>& events) {
  if (down()) return;
  if (now >= heard_ + (open() ? kSilentBeats * heartbeat_ : std::chrono::milliseconds(kHandshake))) return lose(events);
  if (!open() || now < beat_due_) return;
  beat_due_ = now + heartbeat_;
  send(protocol::Beat{false, nanoseconds(now), 0});
}

TimePoint HallLink::next_deadline() const {
  if (down()) return TimePoint::max();
  if (!open()) return heard_ + kHandshake;
  return std::min(beat_due_, heard_ + kSilentBeats * heartbeat_);
}

// The proof of kind `peer` is an empty frame: the kernel has given it already.
void HallLink::post(const Header& header, bool with_proof) {
  transport::Message message;
  message.push_back(transport::Frame::copy(protocol::encode(header)));
  if (with_proof) message.emplace_back();
  outbox_.push_back(std::move(message));
}

void HallLink::flush() {
  while (socket_ != nullptr && !outbox_.empty()) {
    descriptors_.stale = true;
    if (socket_->send(outbox_.front()) != transport::Sent::kYes) return;
    outbox_.pop_front();
  }
}

}  // namespace pounce::client
