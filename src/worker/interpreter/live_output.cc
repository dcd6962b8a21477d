#include "worker/interpreter/live_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "worker/common/bounded_log.h"

namespace pounce::worker {
namespace {

constexpr int kPipeBytes = 1024 * 1024;  // so that a printing loop does not wait for us; smaller where not allowed
constexpr std::size_t kOutputWaiting = 16 * 1024 * 1024;  // beyond it printing waits for the reader, as on a terminal

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

void LiveOutput::begin(const SessionId& session, const TaskId& task) {
  session_ = session;
  task_ = task;
  inputs_.clear();
}

bool LiveOutput::is_seen() const {
  const ClientSeat* client = seat();
  return client != nullptr && client->attached;
}

bool LiveOutput::log_to(const std::string& path) {
  log_.reset(::open(path.c_str(), O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC));
  if (log_) end_open_line(log_.get());  // a line of an earlier run
  return static_cast<bool>(log_);
}

std::shared_ptr<KeptOutput> LiveOutput::keep(std::shared_ptr<KeptOutput> kept) {
  forward_last();
  return std::exchange(kept_, std::move(kept));
}

void LiveOutput::add_to(transport::PollSet& polled) const {
  const TimePoint now = Clock::now();
  for (const OutputPipe& pipe : pipes_)
    if (pipe.fd() >= 0 && !pipe.resting(now) && !blocked()) polled.add_fd(pipe.fd());
}

TimePoint LiveOutput::next_deadline(TimePoint now) const {
  TimePoint deadline = TimePoint::max();
  if (blocked()) return deadline;
  for (const OutputPipe& pipe : pipes_)
    if (pipe.resting(now)) deadline = std::min(deadline, pipe.rest_until());
  return deadline;
}

bool LiveOutput::blocked() const {
  const ClientSeat* client = seat();
  return client != nullptr && client->outbox.waiting_bytes() > kOutputWaiting;
}

void LiveOutput::forward(TimePoint now, bool to_the_end) {
  ClientSeat* client = seat();
  for (OutputPipe& pipe : pipes_) {
    if (!to_the_end && (pipe.resting(now) || blocked())) continue;
    for (std::string bytes = pipe.read(now); !bytes.empty(); bytes = to_the_end ? pipe.read(now) : std::string()) {
      if (kept_) kept_->add(pipe.stream(), {bytes});
      if (log_)
        append_to_log(log_.get(), bytes);
      else if (client != nullptr && client->attached)
        client->outbox.post(protocol::Output{task_, pipe.stream()}, {own_bytes(std::move(bytes))});
    }
  }
}

void LiveOutput::forward_last() {
  forward(Clock::now(), true);
  clients_.flush();
}

bool LiveOutput::show(const std::vector<Bytes>& message) {
  forward_last();
  if (blocked()) return false;
  if (kept_) {
    std::vector<std::string_view> parts;
    for (const Bytes& part : message) parts.push_back(part.text());
    kept_->add("message", parts);
  }
  if (!is_seen()) return true;  // dropped, as printed output is
  seat()->outbox.post(protocol::Output{task_, "message"}, message);
  clients_.flush();
  return true;
}

void LiveOutput::on(const protocol::Input& input, const DataMessage& message) {
  if (message.frames.size() < 2) return message.seat.refuse(ErrorCode::kProtocol, "input needs its message");
  if (input.task != task_ || message.session != session_) return;  // that task has ended
  std::vector<std::string> parts;
  for (std::size_t i = 1; i < message.frames.size(); ++i) parts.emplace_back(message.frames[i].text());
  inputs_.push_back(std::move(parts));
}

std::optional<std::vector<std::string>> LiveOutput::take_input() {
  if (inputs_.empty()) return std::nullopt;
  std::vector<std::string> input = std::move(inputs_.front());
  inputs_.pop_front();
  return input;
}

}  // namespace pounce::worker
