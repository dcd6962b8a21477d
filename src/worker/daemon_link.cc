#include "worker/daemon_link.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/log.h"
#include "identity/keys.h"
#include "pounce/version.h"
#include "protocol/codec.h"
#include "protocol/endpoint_file.h"
#include "protocol/limits.h"
#include "worker/tcp_endpoint.h"

namespace pounce::worker {
namespace {

using namespace std::chrono_literals;
using transport::Frame;
using transport::Message;

constexpr auto kPatience = 3s;                         // for a welcome, and for the hall
constexpr std::chrono::milliseconds kFirstPause = 200ms, kLongestPause = 5s;  // between attempts
constexpr auto kFlushPause = 5ms;                      // while the connection is being made
constexpr std::size_t kUnsentMessages = 64;

// The daemon's own machine has an ipc door too; the one that other nodes can reach is what we need.
std::string tcp_door(const std::vector<std::string>& doors) {
  const auto found = std::find_if(doors.begin(), doors.end(), [](const auto& door) { return !host_of(door).empty(); });
  return found == doors.end() ? std::string() : *found;
}

}  // namespace

DaemonLink::DaemonLink(transport::EventLoop& loop, const SupervisorOptions& options, Callbacks callbacks)
    : loop_(loop),
      options_(options),
      callbacks_(std::move(callbacks)),
      keys_(identity::make_key_pair()),
      proofs_(loop),
      door_(options.door),
      daemon_key_(options.daemon_key),
      proof_kind_(options.proof),
      munge_socket_(options.munge_socket),
      key_file_(options.key_file),
      heartbeat_(options.heartbeat) {}

DaemonLink::~DaemonLink() {
  hang_up();
  loop_.unwatch(timer_);
  loop_.unwatch(flush_timer_);
}

void DaemonLink::open() { knock(); }

void DaemonLink::knock() {
  hang_up();
  stage_ = Stage::kProving;
  const identity::Claim claim{daemon_key_, keys_.public_key, "worker", options_.lease.hex()};
  ProofMaker::Make make;
  if (proof_kind_ == protocol::Proof::kMunge)
    make = [claim, socket = munge_socket_] { return identity::munge_proof(claim, socket, ::geteuid()); };
  else
    make = [claim, path = key_file_] { return identity::key_file_proof(claim, path); };
  proofs_.start(std::move(make), [this](Result<std::string> proof) { say_hello(std::move(proof)); });
}

void DaemonLink::say_hello(Result<std::string> proof) {
  if (!proof) return give_up(proof.error().text);
  if (!connect(door_, protocol::kDoorMessageBytes)) return give_up("no socket to " + door_);
  stage_ = Stage::kDoor;
  protocol::Hello hello{protocol::Role::kWorker, proof_kind_, transport::to_z85(keys_.public_key), "",
                        options_.lease.hex(), kVersion};
  post(hello, *proof, true);
  set_timer(kPatience, [this] { give_up("no answer at the door " + door_); });
}

void DaemonLink::on_welcome(const protocol::Welcome& welcome) {
  const std::string hall = tcp_door(welcome.hall);
  heartbeat_ = std::chrono::milliseconds(welcome.heartbeat_ms);
  hang_up();
  stage_ = Stage::kEntering;
  if (hall.empty() || !connect(hall, protocol::kHallMessageBytes)) return give_up("no way into the hall");
  set_timer(kPatience, [this] { give_up("the hall does not open"); });
}

void DaemonLink::give_up(const std::string& why) {
  if (stage_ == Stage::kAway) return;
  hang_up();
  ++failures_;
  if (failures_ <= 3 || failures_ % 60 == 0) spdlog::warn("no line to pounced: {}", why);
  const auto pause = std::min(kFirstPause * (1 << std::min(failures_ - 1, 5)), kLongestPause);
  set_timer(pause, [this] {
    read_endpoint_file();
    knock();
  });
}

// Unreadable or half-written: what we knew stays; the next attempt reads it again.
void DaemonLink::read_endpoint_file() {
  std::ifstream file(options_.endpoint_file);
  std::ostringstream text;
  text << file.rdbuf();
  const auto endpoint = protocol::decode_endpoint_file(text.str());
  if (!endpoint) return;
  const auto key = transport::from_z85(endpoint->key);
  const std::string door = tcp_door(endpoint->door);
  if (!key || door.empty()) return;
  daemon_key_ = *key;
  door_ = door;
  proof_kind_ = endpoint->proof == "key_file" ? protocol::Proof::kKeyFile : protocol::Proof::kMunge;
  munge_socket_ = endpoint->munge_socket;
  key_file_ = endpoint->key_file;
}

bool DaemonLink::connect(const std::string& endpoint, std::size_t max_frame_bytes) {
  transport::ClientOptions options;
  options.max_frame_bytes = max_frame_bytes;
  options.heartbeat = heartbeat_;
  options.heartbeat_timeout = 3 * heartbeat_;
  auto socket = transport::DealerSocket::connect(context_, keys_, daemon_key_, options, endpoint);
  if (!socket) return false;
  line_.socket = std::move(*socket);
  line_.messages = loop_.watch_socket(line_.socket->handle(), [this] { on_messages(); });
  line_.links = loop_.watch_socket(line_.socket->monitor_handle(), [this] { on_links(); });
  return true;
}

void DaemonLink::hang_up() {
  loop_.unwatch(line_.messages);
  loop_.unwatch(line_.links);
  loop_.unwatch(timer_);
  line_ = Line{};
  unsent_.clear();
  stage_ = Stage::kAway;
}

void DaemonLink::on_links() {
  while (line_.socket) {
    const auto link = line_.socket->link_event();
    if (!link) return;
    if (*link == transport::Link::kConnected && stage_ == Stage::kEntering) {
      loop_.unwatch(timer_);
      stage_ = Stage::kHall;
      failures_ = 0;
      callbacks_.connected();
    } else if (*link == transport::Link::kConnected) {
      flush();
    } else {
      return give_up(*link == transport::Link::kRefused ? "our key was refused" : "the connection was lost");
    }
  }
}

void DaemonLink::on_messages() {
  while (line_.socket) {
    const auto message = line_.socket->receive();
    if (!message) return;
    const auto header = protocol::decode(message->front().text(), protocol::kHallMessageBytes);
    if (!header)
      spdlog::warn("pounced said something unknown: {}", header.error().text);
    else if (stage_ == Stage::kHall)
      callbacks_.message(*header);
    else if (const auto* welcome = std::get_if<protocol::Welcome>(&*header); welcome != nullptr && stage_ == Stage::kDoor)
      return on_welcome(*welcome);
    else if (const auto* refused = std::get_if<protocol::Refused>(&*header))
      return give_up(refused->error.text);
  }
}

void DaemonLink::send(const protocol::Header& header) {
  if (stage_ == Stage::kHall) post(header, {}, false);
}

void DaemonLink::post(const protocol::Header& header, std::string_view payload, bool with_payload) {
  Message message;
  message.push_back(Frame::copy(protocol::encode(header)));
  if (with_payload) message.push_back(Frame::copy(payload));
  if (unsent_.size() >= kUnsentMessages) return give_up("pounced does not read");
  unsent_.push_back(std::move(message));
  flush();
}

void DaemonLink::flush() {
  loop_.unwatch(flush_timer_);
  while (line_.socket && !unsent_.empty()) {
    if (line_.socket->send(unsent_.front()) != transport::Sent::kYes) {
      flush_timer_ = loop_.at(Clock::now() + kFlushPause, [this] { flush(); });
      return;
    }
    unsent_.erase(unsent_.begin());
  }
}

void DaemonLink::set_timer(std::chrono::milliseconds after, std::function<void()> due) {
  loop_.unwatch(timer_);
  timer_ = loop_.at(Clock::now() + after, std::move(due));
}

}  // namespace pounce::worker
