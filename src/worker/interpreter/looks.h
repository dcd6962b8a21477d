// Clients' questions about what lives in the interpreter (completions, docstrings), on their way to the thread of
// Python that answers them while the main thread runs a task or waits for one. Thread: the leader token's holder,
// except where noted.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "model/ids.h"
#include "protocol/messages.h"
#include "worker/interpreter/clients.h"

namespace pounce::worker {

struct LookQuestion {
  SessionId session;  // who asks
  std::uint32_t number = 0;
  std::string text;  // JSON
};

class Looks {
 public:
  // The oldest question beyond these is dropped: its client has given it up by then.
  static constexpr std::size_t kMostWaiting = 16;

  explicit Looks(Clients& clients) : clients_(clients) {}

  void on(const protocol::Look& look, const DataMessage& message);
  void answer(const SessionId& session, std::uint32_t number, Bytes text);

  // Any thread, without the leader token. Blocks; nullopt: `until` has come, or close() was called.
  std::optional<LookQuestion> next(TimePoint until);
  void close();  // any thread: next() returns, and blocks no more
  bool closed();

 private:
  Clients& clients_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<LookQuestion> waiting_;
  bool closed_ = false;
};

}  // namespace pounce::worker
