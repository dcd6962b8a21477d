// The connection to pounced: door (hello), then hall (open_session, demand, beats). Both over the daemon's Unix sockets,
// where the kernel vouches for our uid. When pounced is gone it says so once and waits for a new endpoint.
// Thread: the baton's holder.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/curve_key.h"
#include "client/descriptors.h"
#include "protocol/endpoint_file.h"
#include "protocol/messages.h"
#include "transport/context.h"
#include "transport/dealer_socket.h"

namespace pounce::client {

struct HallOpened {};
struct HallLost {};  // gone, silent, or never answered: ask for the endpoint anew
struct HallRefused {
  Error error;
};
using HallEvent = std::variant<HallOpened, HallLost, HallRefused, protocol::Header>;

class HallLink {
 public:
  // `session` is said at each opening: the same id, so that a restarted pounced knows us.
  HallLink(transport::Context& context, const KeyPair& keys, protocol::OpenSession session);

  bool connect(const protocol::EndpointFile& endpoint, TimePoint now);  // false: it names no door that we can use
  void disconnect();
  void send(const protocol::Header& header);  // dropped while not open: what matters is said again at each opening
  bool open() const { return stage_ == Stage::kOpen; }
  bool down() const { return stage_ == Stage::kDown; }
  // Which connection this is, from 1; 0: not open. An answer never comes over another one than its question.
  std::uint32_t opening() const { return open() ? openings_ : 0; }

  std::vector<HallEvent> pump(TimePoint now);  // everything that is ready, and what is due
  TimePoint next_deadline() const;
  const Descriptors& descriptors() const { return descriptors_; }
  // Anything since then: pounced has taken what was sent before it.
  bool heard_after(TimePoint when) const { return heard_ > when; }

 private:
  enum class Stage : std::uint8_t { kDown, kDoor, kHall, kOpen };

  void enter(Stage stage, const std::string& endpoint, TimePoint now);
  void lose(std::vector<HallEvent>& events);
  void take(transport::Message message, TimePoint now, std::vector<HallEvent>& events);
  void take_at_door(const protocol::Header& header, TimePoint now, std::vector<HallEvent>& events);
  void follow_link(transport::Link link, TimePoint now, std::vector<HallEvent>& events);
  void keep_time(TimePoint now, std::vector<HallEvent>& events);
  void post(const protocol::Header& header, bool with_proof = false);
  void flush();

  transport::Context& context_;
  const KeyPair& keys_;
  const protocol::OpenSession session_;

  Stage stage_ = Stage::kDown;
  std::uint32_t openings_ = 0;
  std::unique_ptr<transport::DealerSocket> socket_;
  Descriptors descriptors_;
  PublicKey daemon_key_;
  std::chrono::milliseconds heartbeat_{5000};
  TimePoint heard_{}, beat_due_{};
  std::deque<transport::Message> outbox_;
};

}  // namespace pounce::client
