// One captured stream of the interpreter: the read end of the pipe that is its descriptor 1 or 2. The first bytes
// after a silence are taken at once. A short pause then gathers the rest, so that a printing loop makes few messages.
// All bytes also go to the lease's log, where the supervisor finds the last lines after a crash. Thread: the leader
// token's holder.
#pragma once

#include <span>
#include <string>

#include "base/clock.h"
#include "base/unique_fd.h"

namespace pounce::worker {

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

}  // namespace pounce::worker
