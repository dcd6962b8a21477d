#include "worker/interpreter/output_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include "worker/common/bounded_log.h"

namespace pounce::worker {
namespace {

constexpr int kPipeBytes = 1024 * 1024;  // so that a printing loop does not wait for us; smaller where not allowed

}  // namespace

OutputPipe::OutputPipe(UniqueFd read_end, int log_fd, std::string stream)
    : fd_(std::move(read_end)), log_fd_(log_fd), stream_(std::move(stream)) {
  ::fcntl(fd_.get(), F_SETFL, ::fcntl(fd_.get(), F_GETFL) | O_NONBLOCK);
  ::fcntl(fd_.get(), F_SETPIPE_SZ, kPipeBytes);
}

std::string OutputPipe::read(TimePoint now) {
  std::string bytes;
  char buffer[64 * 1024];
  while (fd_ && bytes.size() < kPieceBytes) {
    const ssize_t got = ::read(fd_.get(), buffer, sizeof(buffer));
    if (got == 0) fd_.reset();  // every writer is gone: user code closed the descriptor
    if (got <= 0) break;
    bytes.append(buffer, static_cast<std::size_t>(got));
  }
  if (bytes.empty()) return bytes;
  rest_until_ = bytes.size() < kPieceBytes ? now + kPause : now;
  append_to_log(log_fd_, bytes);  // a full disk must not stop the task; the caller gets the bytes all the same
  return bytes;
}

}  // namespace pounce::worker
