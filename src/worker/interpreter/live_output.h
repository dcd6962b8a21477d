// What is printed, displayed and typed while a task runs: the captured streams, their way to the client of the last
// task, and its messages to that task. Thread: the leader token's holder.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "model/ids.h"
#include "protocol/messages.h"
#include "transport/event_loop.h"
#include "worker/interpreter/clients.h"
#include "worker/interpreter/kept_output.h"

namespace pounce::worker {

// One captured stream of the interpreter: the read end of the pipe that is its descriptor 1 or 2. The first bytes
// after a silence are taken at once. A short pause then gathers the rest, so that a printing loop makes few messages.
// All bytes also go to the lease's log, where the supervisor finds the last lines after a crash.
class OutputPipe {
 public:
  static constexpr std::chrono::milliseconds kPause{20};
  static constexpr std::size_t kPieceBytes = 256 * 1024;

  // read_end: made non-blocking (the writers' end is another open file description and stays as it is). buffer: all
  // zero, also after each read; it holds the read bytes until the log has them (worker/common/supervisor_channel.h).
  OutputPipe(UniqueFd read_end, int log_fd, std::string stream, std::span<char> buffer);

  const std::string& stream() const { return stream_; }
  int fd() const { return fd_.get(); }
  bool resting(TimePoint now) const { return now < rest_until_; }
  TimePoint rest_until() const { return rest_until_; }

  // Reads at most kPieceBytes; empty if nothing is there.
  std::string read(TimePoint now);

 private:
  UniqueFd fd_;
  int log_fd_;
  std::string stream_;
  std::span<char> buffer_;
  TimePoint rest_until_{};
};

// Threads that print after the end of a task print to its client too.
class LiveOutput {
 public:
  LiveOutput(Clients& clients, std::array<OutputPipe, 2> pipes) : clients_(clients), pipes_(std::move(pipes)) {}

  void begin(const SessionId& session, const TaskId& task);
  ClientSeat* seat() const { return clients_.seat(session_); }  // the client of the last task; null: dismissed
  bool is_seen() const;                                         // it is attached, so it sees what is shown

  // A detached task's, until end_log(): what is printed goes there, to no client. False: it cannot be opened.
  bool log_to(const std::string& path);
  void end_log() { log_.reset(); }
  // What is printed and shown from now on also goes there; null: no more. Returns what it went to.
  std::shared_ptr<KeptOutput> keep(std::shared_ptr<KeptOutput> kept);

  void add_to(transport::PollSet& polled) const;
  TimePoint next_deadline(TimePoint now) const;
  // Takes what was printed. to_the_end: all of it, however far behind the client is.
  void forward(TimePoint now, bool to_the_end);
  void forward_last();  // and sends it at once
  // Sends a Jupyter message (JSON, then its buffers) behind everything that was printed so far. False: the reader is
  // far behind.
  bool show(const std::vector<Bytes>& message);

  void on(const protocol::Input& input, const DataMessage& message);
  std::optional<std::vector<std::string>> take_input();  // the client's next message to the running task

 private:
  bool blocked() const;

  Clients& clients_;
  std::array<OutputPipe, 2> pipes_;
  UniqueFd log_;
  std::shared_ptr<KeptOutput> kept_;
  SessionId session_;
  TaskId task_;
  std::deque<std::vector<std::string>> inputs_;
};

}  // namespace pounce::worker
