// One encrypted connection that carries whole messages in order, for bulk data (docs/protocol.md, "The bulk lane"). Its ends
// proved to each other that they have the key that one of them made. It does not connect again by itself: whoever is told
// kDisconnected makes another one. Nothing blocks; a call moves at most Options::turn_bytes.
//
// In an event loop: poll fd() for reading, and for writing while wants_write(); do not sleep while ready() nor beyond
// next_deadline(). When something is there: flush(), receive() until it has nothing, link_event(), send() what there is, check().
// Thread: the one that owns the loop or leader token.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "pounce/result.h"
#include "tls/credential.h"
#include "tls/message_framing.h"
#include "tls/options.h"
#include "tls/stream.h"
#include "transport/channel.h"

namespace pounce::tls {

using transport::Link;
using transport::Sent;

class Channel {
 public:
  static bool available() { return Stream::available(); }

  // Begins to connect to a Listener that `own` was announced to. kInternal: the address is none, or OpenSSL is not there.
  static Result<std::unique_ptr<Channel>> connect(const std::string& endpoint, const Credential& own, const Options& options);
  // Of a server: what a Listener accepted.
  Channel(std::unique_ptr<Stream> stream, const Options& options);

  // Frames but the first of each message go where `placer` says, without a copy after their decryption.
  void place_with(Placer placer) { reader_.place_with(std::move(placer)); }
  std::optional<Message> receive();
  // kFull: not connected, or Options::high_water_bytes wait. On kYes the frames are taken; each is let go when it is encrypted.
  Sent send(Message& frames);
  void flush();
  // kConnected once, then one of kDisconnected (cut, stalled, a bound broken) and kRefused (a key is not the other's).
  // What came whole before can still be received; a message that was under way is gone, and so is what send() had taken.
  std::optional<Link> link_event();
  const std::string& why() const { return stream_->why(); }  // for a log

  int fd() const { return stream_->fd(); }  // -1 (poll ignores it) once it is lost
  bool wants_write() const;
  // receive() or link_event() may have something though poll says nothing; or, if asked, send() has room.
  bool ready(bool to_send = false) const;
  TimePoint next_deadline() const;
  void check(TimePoint now);  // cuts a handshake or a message that has stalled; not one that only we did not look at

  const PeerId& peer() const { return stream_->peer(); }
  std::uint64_t received_bytes() const { return stream_->came(); }  // as they travel
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
