// One connection of a lane, turned by a thread of its own, so that encrypting a gigabyte takes nothing from the thread
// that answers calls. It asks for pieces, a few ahead, and answers what the other end asks. Thread: the lane's
// owner's; what is below "the thread's" is touched by that one only.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "bulk/exchange.h"
#include "protocol/messages.h"
#include "tls/channel.h"

namespace pounce::bulk {

// The bounds of a lane's connections.
inline tls::Options stream_options() {
  tls::Options options;
  options.max_frame_bytes = Fetches::kPieceBytes;
  options.max_frames = 2;
  options.handshake = std::chrono::seconds(2);  // a firewall that drops packets costs a worker this long, once
  return options;
}

class StreamThread {
 public:
  enum class Begins : std::uint8_t { kConnecting, kStanding };
  // Null: there is no thread or no descriptor to be had.
  static std::unique_ptr<StreamThread> start(std::shared_ptr<Exchange> exchange, std::unique_ptr<tls::Channel> channel,
                                             Begins begins);
  ~StreamThread();  // ends the thread: some milliseconds at most
  void wake();      // there is something to request

 private:
  StreamThread(std::shared_ptr<Exchange> exchange, std::unique_ptr<tls::Channel> channel, UniqueFd wake, Begins begins);

  // the thread's
  void run();
  void turn_until_over();
  void turn();
  void sleep();
  void follow_link();
  void take(transport::Message message);
  void take_piece(const protocol::Chunk& chunk, const transport::Message& message);
  void answer();
  void ask();
  TimePoint next_deadline() const;
  void note_progress();
  void end(std::string why);
  tls::Destination destination_of(std::string_view header, std::size_t frame, std::size_t size);

  const std::shared_ptr<Exchange> exchange_;
  std::unique_ptr<tls::Channel> channel_;
  const UniqueFd wake_;
  std::atomic<bool> stop_ = false;
  bool stood_, over_ = false;
  std::deque<Piece> requested_;                 // in the order in which they will come
  std::optional<transport::Message> question_;  // the request of the last of them, if the channel had no room
  std::uint64_t came_ = 0;                      // bytes
  TimePoint came_at_{};                         // when the last byte came, or the first request after a pause was made
  std::deque<Piece> to_send_;                   // requested by the other end
  bool in_place_ = false;                       // the piece that comes now is received where it stays
  std::shared_ptr<std::vector<std::byte>> scratch_;  // buffer for pieces that are written and not received in place
  std::jthread thread_;                              // last: starts after all other members exist
};

}  // namespace pounce::bulk
