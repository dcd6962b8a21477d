#include "worker/interpreter/output_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "worker/common/bounded_log.h"

namespace pounce::worker {
namespace {

constexpr int kPipeBytes = 1024 * 1024;  // so that a printing loop does not wait for us; smaller where not allowed

}  // namespace

OutputPipe::OutputPipe(UniqueFd read_end, int log_fd, std::string stream, std::span<char> buffer)
    : fd_(std::move(read_end)), log_fd_(log_fd), stream_(std::move(stream)), buffer_(buffer.first(kPieceBytes)) {
  ::fcntl(fd_.get(), F_SETFL, ::fcntl(fd_.get(), F_GETFL) | O_NONBLOCK);
  ::fcntl(fd_.get(), F_SETPIPE_SZ, kPipeBytes);
}

std::string OutputPipe::read(TimePoint now) {
  std::size_t size = 0;
  while (fd_ && size < kPieceBytes) {
    const ssize_t got = ::read(fd_.get(), buffer_.data() + size, kPieceBytes - size);
    if (got == 0) fd_.reset();  // all writers are gone: user code closed the descriptor
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size == 0) return {};
  rest_until_ = size < kPieceBytes ? now + kPause : now;
  const auto piece = buffer_.first(size);
  std::string bytes(piece.data(), piece.size());
  append_to_log(log_fd_, bytes);  // a full disk must not stop the task; the caller still gets the bytes
  std::ranges::fill(piece, '\0');
  return bytes;
}

}  // namespace pounce::worker
