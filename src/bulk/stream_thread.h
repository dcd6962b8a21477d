// One connection of a lane, turned by a thread of its own, so that encrypting a gigabyte takes nothing from whoever answers
// calls. It asks for pieces, a few ahead, and answers what the other end asks. Thread: the lane's owner's; what is below
// "the thread's" is touched by that one only.
#pragma once

#include <atomic>
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

class StreamThread {
 public:
  enum class Begins : std::uint8_t { kConnecting, kStanding };
  // Null: there is no thread or no descriptor to be had.
  static std::unique_ptr<StreamThread> start(std::shared_ptr<Exchange> exchange, std::unique_ptr<tls::Channel> channel, Begins begins);
  ~StreamThread();  // ends it: some milliseconds at most
  void wake();      // there is something to ask for

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
  tls::Place place_of(std::string_view header, std::size_t frame, std::size_t size);

  const std::shared_ptr<Exchange> exchange_;
  std::unique_ptr<tls::Channel> channel_;
  const UniqueFd wake_;
  std::atomic<bool> stop_ = false;
  bool stood_, over_ = false;
  std::deque<Piece> asked_;    // in the order in which they will come
  std::optional<transport::Message> question_;  // of the last of them, for which there was no room
  std::uint64_t came_ = 0;     // bytes
  TimePoint came_at_{};        // the last of them, or the question that was asked when nothing was awaited
  std::deque<Piece> to_send_;  // that the other end has asked for
  std::shared_ptr<std::vector<std::byte>> scratch_;  // what is written and not received in place
  std::jthread thread_;        // last: started when all else stands
};

}  // namespace pounce::bulk
