// The connection to pounced, for a kernel, a supervisor and pouncectl alike: where the daemon is, the handshake
// (handshake.h), then the control channel, with what waits to be sent and the beats by which each side knows that the
// other lives. Its owner polls descriptors(), calls pump() when they tell of something or next_deadline() has come, and
// is told what happened. After Lost and Refused it is down: the owner decides whether and when to try again. Thread:
// its owner's.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/curve_key.h"
#include "control/handshake.h"
#include "protocol/messages.h"
#include "protocol/state_files.h"
#include "transport/channel.h"
#include "transport/dealer_socket.h"
#include "transport/zmq_context.h"

namespace pounce::control {

// Where a daemon is and by which key it is known, from its endpoint file. Values. Thread: any.
enum class Reach : std::uint8_t {
  kThisMachine,  // the daemon's Unix sockets: the kernel tells it our uid, and that is the proof
  kNetwork       // any node: TCP, with a proof of our own
};

struct DaemonAddress {
  PublicKey key{};
  std::string endpoint{};  // of the handshake
  protocol::Proof proof = protocol::Proof::kPeer;
  std::string munge_socket{}, key_file{};
};

// nullopt: it names no key, or no endpoint within this reach.
std::optional<DaemonAddress> address_of(const protocol::EndpointFile& file, Reach reach);

std::string endpoint_within(Reach reach, const std::vector<std::string>& endpoints);  // "": none

struct Opened {};
struct Lost {  // gone, silent, or never answered
  Error error;
};
struct Refused {  // the daemon said no to our hello
  Error error;
};
struct Unreadable {  // a message that we do not know: of a newer daemon, perhaps
  Error error;
};
using Event = std::variant<Opened, Lost, Refused, Unreadable, protocol::Header>;

// The settings of a client, the same for all of its connections.
struct Manner {
  Reach reach = Reach::kThisMachine;
  protocol::Hello hello;  // role, session or lease; key and proof are filled in
  Patience patience;
  std::optional<protocol::Header> first{};    // said as soon as the control channel takes it
  std::chrono::milliseconds heartbeat{5000};  // until a welcome tells the daemon's
  std::size_t unsent = SIZE_MAX;              // messages: with more, the daemon does not read and counts as lost
};

class ControlConnection {
 public:
  ControlConnection(transport::Context& context, const KeyPair& keys, Manner manner);

  // Begins anew. Within this machine no proof is needed and the greeting begins at once; else it waits for proved(),
  // which counts only until the next connect().
  void connect(DaemonAddress address, TimePoint now);
  void proved(const Result<std::string>& proof, TimePoint now);

  void send(const protocol::Header& header, TimePoint now);  // dropped while not open: say it again when Opened
  std::vector<Event> pump(TimePoint now);  // everything that is ready, and what is due. Beats too, answered already
  TimePoint next_deadline() const;
  const transport::Descriptors& descriptors() const { return descriptors_; }

  bool open() const { return handshake_.stage() == Stage::kOpen; }
  bool down() const { return handshake_.stage() == Stage::kDown; }
  // The number of this opening, from 1; 0: not open. An answer comes over the same opening as its question.
  std::uint32_t opening() const { return open() ? openings_ : 0; }
  // The number of the socket that descriptors() belong to: a new socket may have the old one's descriptors. 0: none.
  std::uint32_t socket() const { return socket_ == nullptr ? 0 : sockets_; }
  const DaemonAddress& address() const { return address_; }
  TimePoint next_beat(TimePoint now) const { return handshake_.next_beat(now); }
  // Whether anything came after `when`: then the daemon has taken what was sent before.
  bool seen_after(TimePoint when) const { return handshake_.last_seen() > when; }

 private:
  void happened(Signal signal, TimePoint now, Event why = Lost{});
  bool greet(TimePoint now);
  bool enter(TimePoint now);
  bool open_socket(const std::string& endpoint, std::size_t max_frame_bytes);
  void hang_up();
  void lose(std::string why, TimePoint now, ErrorCode code = ErrorCode::kDaemonUnavailable);
  void take(const transport::Message& message, TimePoint now);
  void take_in_greeting(const protocol::Header& header, TimePoint now);
  void follow(transport::Link link, TimePoint now);
  void keep_time(TimePoint now);
  void post(const protocol::Header& header, TimePoint now, const std::string* payload = nullptr);
  void flush(TimePoint now);

  transport::Context& context_;
  const KeyPair& keys_;
  const Manner manner_;

  Handshake handshake_;
  DaemonAddress address_;
  std::string proof_, channel_;  // of the greeting under way; where the welcome sends us
  std::unique_ptr<transport::DealerSocket> socket_;
  transport::Descriptors descriptors_;
  std::deque<transport::Message> outbox_;
  std::uint32_t openings_ = 0, sockets_ = 0;
  std::vector<Event> events_;  // not handed out yet
};

}  // namespace pounce::control
