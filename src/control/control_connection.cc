#include "control/control_connection.h"

#include <algorithm>
#include <utility>

#include "pounce/version.h"
#include "protocol/codec.h"
#include "protocol/message_limits.h"

namespace pounce::control {

std::string endpoint_within(Reach reach, const std::vector<std::string>& endpoints) {
  const char* const scheme = reach == Reach::kThisMachine ? "ipc://" : "tcp://";
  const auto found =
      std::ranges::find_if(endpoints, [scheme](const std::string& at) { return at.starts_with(scheme); });
  return found == endpoints.end() ? std::string() : *found;
}

std::optional<DaemonAddress> address_of(const protocol::EndpointFile& file, Reach reach) {
  const auto key = transport::from_z85(file.key);
  DaemonAddress address{.endpoint = endpoint_within(reach, file.handshake)};
  if (!key || address.endpoint.empty()) return std::nullopt;
  address.key = *key;
  if (reach == Reach::kThisMachine) return address;
  address.proof = file.proof == "key_file" ? protocol::Proof::kKeyFile : protocol::Proof::kMunge;
  address.munge_socket = file.munge_socket;
  address.key_file = file.key_file;
  return address;
}

namespace {

using protocol::Header;

// How long a silent network may keep a connection: TCP's own probes end it, and wake no process.
constexpr std::chrono::seconds kKeepalive{15};

// A moment that all peers of one daemon share, by their machines' wall clocks. Another daemon's differs: the daemons
// of a login node do not all wake at once.
TimePoint common_moment(const PublicKey& daemon, TimePoint now) {
  const auto of_daemon = std::chrono::milliseconds(daemon.bytes[0] << 8 | daemon.bytes[1]);
  return now - WallClock::now().time_since_epoch() + of_daemon;
}

std::int64_t nanoseconds(TimePoint when) { return when.time_since_epoch().count(); }

const char* waited_for(Stage stage) {
  switch (stage) {
    case Stage::kGreeting:
      return "pounced did not answer in time";
    case Stage::kEntering:
      return "pounced's control channel did not open in time";
    default:
      return "pounced is silent";
  }
}

}  // namespace

ControlConnection::ControlConnection(transport::Context& context, const KeyPair& keys, Manner manner)
    : context_(context), keys_(keys), manner_(std::move(manner)), handshake_(manner_.patience, manner_.heartbeat) {}

// ---- the handshake's steps ---------------------------------------------------------------------------------------

void ControlConnection::connect(DaemonAddress address, TimePoint now) {
  address_ = std::move(address);
  happened(Signal::kStart, now);
  if (manner_.reach == Reach::kThisMachine) proved(std::string(), now);  // the kernel has given it already
}

void ControlConnection::proved(const Result<std::string>& proof, TimePoint now) {
  if (handshake_.stage() != Stage::kProving) return;
  if (!proof) return lose(proof.error().text, now);
  proof_ = *proof;
  happened(Signal::kProved, now);
}

void ControlConnection::happened(Signal signal, TimePoint now, Event why) {
  switch (handshake_.handle(signal, now)) {
    case Step::kNothing:
      return;
    case Step::kProve:  // by the owner: hang up whatever was under way
      return hang_up();
    case Step::kGreet:
      if (!greet(now)) lose("no connection can be made to " + address_.endpoint, now);
      return;
    case Step::kEnter:
      if (!enter(now)) lose("pounced names no control channel that can be reached", now);
      return;
    case Step::kAnnounce:
      ++openings_;
      events_.emplace_back(Opened{});
      return;
    case Step::kHangUp:
      hang_up();
      events_.push_back(std::move(why));
  }
}

// The hello uses up the proof: the same proof twice is a replay.
bool ControlConnection::greet(TimePoint now) {
  if (!open_socket(address_.endpoint, protocol::kHandshakeMessageBytes)) return false;
  protocol::Hello hello = manner_.hello;
  hello.proof = address_.proof;
  hello.key = transport::to_z85(keys_.public_key);
  hello.version = kVersion;
  const std::string proof = std::exchange(proof_, {});
  post(hello, now, &proof);
  return true;
}

bool ControlConnection::enter(TimePoint now) {
  if (channel_.empty() || !open_socket(channel_, protocol::kControlMessageBytes)) return false;
  if (manner_.first) post(*manner_.first, now);
  return true;
}

bool ControlConnection::open_socket(const std::string& endpoint, std::size_t max_frame_bytes) {
  hang_up();
  transport::ClientOptions options;
  options.max_frame_bytes = max_frame_bytes;
  if (manner_.reach == Reach::kNetwork) options.keepalive = kKeepalive;
  auto socket = transport::DealerSocket::connect(context_, keys_, address_.key, options, endpoint);
  if (!socket) return false;
  socket_ = std::move(*socket);
  ++sockets_;
  descriptors_ = transport::Descriptors(socket_.get());
  return true;
}

void ControlConnection::hang_up() {
  socket_.reset();
  descriptors_ = {};
  outbox_.clear();
}

void ControlConnection::lose(std::string why, TimePoint now, ErrorCode code) {
  happened(Signal::kLost, now, Lost{{code, std::move(why), {}, {}}});
}

// ---- what comes in -----------------------------------------------------------------------------------------------

std::vector<Event> ControlConnection::pump(TimePoint now) {
  // Goes on until the socket has nothing and takes nothing: only then do its descriptors report the next change.
  bool went_on = true;
  while (socket_ != nullptr && went_on) {
    went_on = false;
    if (const auto link = socket_->link_event()) {
      follow(*link, now);
      went_on = true;
    } else if (socket_->ready(!outbox_.empty())) {
      if (const auto message = socket_->receive()) take(*message, now);
      flush(now);
      went_on = true;
    }
  }
  descriptors_.stale = false;
  keep_time(now);  // after the reading: what came while we were stopped is no silence
  return std::exchange(events_, {});
}

void ControlConnection::follow(transport::Link link, TimePoint now) {
  switch (link) {
    case transport::Link::kConnected:
      happened(Signal::kConnected, now);
      return flush(now);
    case transport::Link::kDisconnected:
      return lose("pounced closed the connection", now);
    case transport::Link::kRefused:
      return lose("pounced did not accept our key", now, ErrorCode::kNotAuthenticated);
  }
}

void ControlConnection::take(const transport::Message& message, TimePoint now) {
  handshake_.seen(now);
  auto header = protocol::decode(message.front().text(), protocol::kControlMessageBytes);
  if (!header) return static_cast<void>(events_.emplace_back(Unreadable{std::move(header.error())}));
  if (handshake_.stage() == Stage::kGreeting) return take_in_greeting(*header, now);
  happened(Signal::kConnected, now);  // gotchas Z9: what comes over it may be seen first
  if (const auto* beat = std::get_if<protocol::Beat>(&*header); beat != nullptr && !beat->answer)
    send(protocol::Beat{true, beat->sent_ns, nanoseconds(now)}, now);
  events_.emplace_back(std::move(*header));
}

void ControlConnection::take_in_greeting(const Header& header, TimePoint now) {
  if (const auto* refused = std::get_if<protocol::Refused>(&header)) {
    happened(Signal::kRefused, now, Refused{refused->error});
  } else if (const auto* welcome = std::get_if<protocol::Welcome>(&header)) {
    handshake_.set_heartbeat(std::chrono::milliseconds(welcome->heartbeat_ms), common_moment(address_.key, now));
    channel_ = endpoint_within(manner_.reach, welcome->control);
    happened(Signal::kWelcome, now);
  }
}

// ---- time, and what goes out -------------------------------------------------------------------------------------

void ControlConnection::keep_time(TimePoint now) {
  if (handshake_.time_up(now)) {
    const char* const why = waited_for(handshake_.stage());
    happened(Signal::kTimeUp, now, Lost{{ErrorCode::kTimeout, why, {}, {}}});
  }
  if (handshake_.beat_is_due(now)) send(protocol::Beat{false, nanoseconds(now), 0}, now);
}

TimePoint ControlConnection::next_deadline() const {
  return events_.empty() ? handshake_.next_deadline() : TimePoint::min();
}

void ControlConnection::send(const Header& header, TimePoint now) {
  if (open()) post(header, now);
}

void ControlConnection::post(const Header& header, TimePoint now, const std::string* payload) {
  transport::Message message;
  message.push_back(transport::Frame::copy(protocol::encode(header)));
  if (payload != nullptr) message.push_back(transport::Frame::copy(*payload));
  if (outbox_.size() >= manner_.unsent) return lose("pounced does not read", now);
  outbox_.push_back(std::move(message));
  flush(now);
}

// ZeroMQ takes a message only for a connection that stands, and may tell of that connection later (gotchas Z9).
void ControlConnection::flush(TimePoint now) {
  while (socket_ != nullptr && !outbox_.empty()) {
    descriptors_.stale = true;
    if (socket_->send(outbox_.front()) != transport::Sent::kYes) return;
    outbox_.pop_front();
    if (handshake_.stage() == Stage::kEntering) happened(Signal::kConnected, now);
  }
}

}  // namespace pounce::control
