// One encrypted connection that carries whole messages in order, for bulk data (docs/protocol.md, "The bulk lane").
// Its ends proved to each other that they have the key that one of them made. It does not connect again by itself: the
// owner that is told kDisconnected makes another one. Nothing blocks; a call moves at most Options::turn_bytes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "pounce/error.h"
#include "tls/message_framing.h"
#include "tls/stream.h"
#include "transport/channel.h"

namespace pounce::tls {

struct Options {
  std::size_t max_frame_bytes = 0;                 // of an incoming frame; required
  std::size_t max_frames = 1024;                   // of an incoming message
  std::size_t high_water_bytes = 4 * 1024 * 1024;  // waiting to be sent; above it send() returns kFull
  std::size_t turn_bytes = 4 * 1024 * 1024;        // moved in one call, so that an event loop stays responsive
  std::chrono::milliseconds handshake{5000};       // from the first byte of TCP to the end of the handshake
  std::chrono::milliseconds stall{30'000};         // without a byte while one is due; then the connection is lost
  // Sent with one key; AES-GCM allows about 380 GB (RFC 8446, 5.5)
  std::uint64_t rekey_bytes = std::uint64_t{64} << 30;
};

// In an event loop: poll fd() for reading, and for writing while wants_write(); do not sleep while ready() nor beyond
// next_deadline(). When something is there: flush(), receive() until it has nothing, link_event(), send() what there
// is, check(). Thread: the one that owns the loop or leader token.
using transport::Link;
using transport::Sent;

class Channel {
 public:
  static bool available() { return Stream::available(); }

  // Begins to connect to a Listener that was told of `own` by announce(). kInternal: the address is malformed, or
  // there is no OpenSSL.
  static Result<std::unique_ptr<Channel>> connect(const std::string& endpoint, const Credential& own,
                                                  const Options& options);
  // For a server: `stream` is what a Listener accepted.
  Channel(std::unique_ptr<Stream> stream, const Options& options);

  // All frames but the first of each message are decrypted straight into the place that `placer` names.
  void place_with(DestinationOf placer) { reader_.place_with(std::move(placer)); }
  std::optional<Message> receive();
  // kFull: not connected, or Options::high_water_bytes wait. On kYes the channel takes the frames; it releases each
  // one when it is encrypted.
  Sent send(Message& frames);
  void flush();
  // kConnected once, then either kDisconnected (cut, stalled, a bound broken) or kRefused (the keys differ). Messages
  // that had arrived whole can still be received. A message under way is lost, and so is what send() had taken.
  std::optional<Link> link_event();
  const std::string& why() const { return stream_->why(); }  // for a log

  int fd() const { return stream_->fd(); }  // -1 (poll ignores it) once it is lost
  bool wants_write() const;
  // receive() or link_event() may have something though poll reports nothing; or, with to_send, send() has room.
  bool ready(bool to_send = false) const;
  TimePoint next_deadline() const;
  void check(TimePoint now);  // cuts a stalled handshake or message, unless only our loop was late

  const PeerId& peer() const { return stream_->peer(); }
  std::uint64_t received_bytes() const { return stream_->came(); }  // on the wire, encrypted
  std::uint64_t sent_bytes() const { return stream_->went(); }

 private:
  void shake_hands();
  bool connected();
  bool sending() const { return stream_->unsent() || !writer_.empty(); }
  bool fill();
  void note_progress();

  const Options options_;
  const std::unique_ptr<Stream> stream_;
  MessageReader reader_;
  MessageWriter writer_;
  bool connecting_ = false;  // TCP's own handshake is under way
  bool more_ = false;        // receive() stopped before it had read everything
  bool was_open_ = false, told_open_ = false, told_end_ = false;
  std::uint64_t came_ = 0, went_ = 0, with_this_key_ = 0;
  TimePoint began_, came_at_, went_at_;
};

}  // namespace pounce::tls
