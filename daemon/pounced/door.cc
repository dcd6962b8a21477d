#include "pounced/door.h"

#include <exception>

#include "base/log.h"
#include "protocol/codec.h"
#include "protocol/limits.h"

namespace pounce::daemon {
namespace {

constexpr int kHighWaterMark = 64;  // nobody has more than one HELLO under way

}  // namespace

Result<std::unique_ptr<Door>> Door::open(transport::EventLoop& loop, transport::Context& context, const KeyPair& keys,
                                         DoorPlan plan, Reception reception, Guests& guests, ProofChecker& checker) {
  std::unique_ptr<Door> door(new Door(loop, std::move(plan), reception, guests, checker));
  transport::ServerOptions options;
  options.zap_domain = kDomain;
  options.max_frame_bytes = protocol::kDoorMessageBytes;
  options.high_water_mark = kHighWaterMark;
  context.admit(kDomain, [&door = *door](const transport::ZapQuestion& question) { return door.let_knock(question); });
  auto socket = transport::RouterSocket::bind(context, keys, options, door->plan_.endpoints);
  if (!socket) return failure(socket.error());
  door->socket_ = std::move(*socket);
  door->watch();
  return door;
}

Door::~Door() {
  loop_.unwatch(watch_);
  loop_.unwatch(recycle_timer_);
}

void Door::watch() {
  watch_ = loop_.watch_socket(socket_->handle(), [this] { drain(); });
}

// On ipc the kernel names the peer's user: another one (root too) has nothing to say here.
bool Door::let_knock(const transport::ZapQuestion& question) {
  if (question.uid && *question.uid != plan_.uid) return false;
  ++visits_;
  if (recycle_timer_ == 0) recycle_timer_ = loop_.at(Clock::now() + kRecycle, [this] { recycle(); });
  if (visits_ == kMostVisits) {
    loop_.unwatch(recycle_timer_);
    recycle_timer_ = loop_.at(Clock::now() + kServe, [this] { recycle(); });
  }
  return true;
}

void Door::drain() {
  constexpr int kMostPerTurn = 64;  // the hall's turn must come
  for (int i = 0; i < kMostPerTurn; ++i) {
    const auto received = socket_->receive();
    if (!received) return;
    hear(*received);
  }
}

void Door::hear(const transport::Received& received) {
  Knock knock{received.peer, received.uid, {}};
  for (const transport::Frame& frame : received.frames) knock.frames.push_back(frame.text());
  const bool local = received.uid.has_value();
  Verdict verdict = reception_.judge(knock, Clock::now());
  if (const auto* error = std::get_if<Error>(&verdict)) return refuse(received.route, *error);
  if (auto* guest = std::get_if<Guest>(&verdict)) return welcome(received.route, local, std::move(*guest));
  check(received.route, local, std::move(std::get<ProofToCheck>(verdict)));
}

void Door::check(const std::string& route, bool local, ProofToCheck question) {
  auto done = [this, route, local, guest = std::move(question.guest)](const Result<void>& outcome) {
    if (outcome)
      welcome(route, local, guest);
    else
      refuse(route, outcome.error());
  };
  if (!checker_.check(std::move(question.claim), std::move(question.proof), std::move(done)))
    refuse(route, {ErrorCode::kDaemonUnavailable, "too many hellos wait: try again in a second", {}, {}});
}

void Door::welcome(const std::string& route, bool local, Guest guest) {
  const std::string who = guest.role == protocol::Role::kClient ? "client session=" + guest.session.hex()
                                                                : "worker lease=" + guest.lease.hex();
  if (!guests_.admit(std::move(guest), Clock::now()))
    return refuse(route,
                  {ErrorCode::kDaemonUnavailable, "this daemon serves all the clients and workers it can", {}, {}});
  spdlog::info("admitted {}", who);
  protocol::Welcome answer;
  for (const std::string& endpoint : plan_.hall_endpoints)
    if (local || !endpoint.starts_with("ipc://")) answer.hall.push_back(endpoint);
  answer.instance = plan_.instance.hex();
  answer.heartbeat_ms = plan_.heartbeat_ms;
  send(route, answer);
}

void Door::refuse(const std::string& route, const Error& error) {
  spdlog::warn("refused a hello: {}", error.text);
  send(route, protocol::Refused{error});
}

void Door::send(const std::string& route, const protocol::Header& header) {
  transport::Message message;
  message.push_back(transport::Frame::copy(protocol::encode(header)));
  if (socket_->send(route, message) != transport::Sent::kYes) spdlog::debug("the one who said hello is gone");
}

void Door::recycle() {
  recycle_timer_ = 0;
  visits_ = 0;
  loop_.unwatch(watch_);
  try {
    socket_->rebind();
    watch();
  } catch (const std::exception& error) {
    // Without a door no worker could come back: better a new daemon, which takes everything over.
    spdlog::critical("the door cannot be opened again: {}", error.what());
    loop_.stop();
  }
}

}  // namespace pounce::daemon
