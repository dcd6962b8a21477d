#include "transport/local_stream.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>

namespace pounce::transport {
namespace {

constexpr std::size_t kInput = 64 * 1024;
constexpr std::size_t kGather = 16 * 1024;  // a smaller message is copied and sent with its neighbours
constexpr std::size_t kMostGathered = 256 * 1024;
constexpr std::uint64_t kMemory = std::uint64_t{1} << 63;  // mark in a frame's size: its memory comes as a descriptor
constexpr std::size_t kFramesMax = 1024;                   // protocol/message_limits.h
constexpr std::size_t kDescriptorsMax = 16;                // descriptors that wait for their frames
constexpr std::size_t kPiecesMax = 64;                     // buffers of one write

template <class Number>
void append(std::string& text, Number number) {
  text.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// Native byte order: both ends are on this machine.
std::string head_of(const Message& frames) {
  std::string head;
  append(head, static_cast<std::uint32_t>(frames.size()));
  for (const Frame& frame : frames)
    append<std::uint64_t>(head, frame.block() ? kMemory | frame.block()->capacity() : frame.size());
  return head;
}

std::size_t bytes_of(const Message& frames) {
  std::size_t size = 0;
  for (const Frame& frame : frames) size += frame.size();
  return size;
}

bool passes_memory(const Message& frames) {
  return std::ranges::any_of(frames, [](const Frame& frame) { return frame.block() != nullptr; });
}

void take_descriptors(msghdr& message, std::deque<UniqueFd>& descriptors) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t i = 0; i < (part->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      descriptors.emplace_back(fd);
    }
  }
}

}  // namespace

LocalStream::LocalStream(UniqueFd fd, std::size_t max_frame_bytes)
    : fd_(std::move(fd)), max_frame_bytes_(max_frame_bytes), input_(kInput) {}

// A forked child may hold the descriptor too; the other end still sees the end of the stream.
LocalStream::~LocalStream() {
  if (fd_) ::shutdown(fd_.get(), SHUT_RDWR);
}

void LocalStream::close() {
  open_ = false;
  ::shutdown(fd_.get(), SHUT_RDWR);  // keep the number: a caller may still poll it
}

// ---- receiving ----------------------------------------------------------------------------------------------------

std::optional<Message> LocalStream::receive() {
  try {
    while (open_) {
      if (!parse()) return broken();
      if (whole()) {
        Incoming done = std::exchange(incoming_, {});
        return std::move(done.frames);
      }
      if (std::exchange(drained_, false) || !read()) return std::nullopt;
    }
  } catch (const std::exception&) {  // out of memory for a frame
    return broken();
  }
  return std::nullopt;
}

std::optional<Message> LocalStream::broken() {
  close();
  return std::nullopt;
}

bool LocalStream::whole() const {
  return incoming_.announced && incoming_.frames.size() == incoming_.sizes.size() && missing() == 0;
}

std::size_t LocalStream::missing() const {
  return incoming_.frames.empty() || incoming_.frames.back().block()
             ? 0
             : incoming_.frames.back().size() - incoming_.filled;
}

// Parses what has been read. False: it violates the framing.
bool LocalStream::parse() {
  if (!incoming_.announced && !parse_sizes()) return false;
  while (incoming_.announced && !whole()) {
    if (missing() == 0 && !begin_frame()) return false;
    if (!fill_frame()) return true;
  }
  return true;
}

bool LocalStream::parse_sizes() {
  std::uint32_t count = 0;
  if (end_ - begin_ < sizeof count) return true;
  std::memcpy(&count, input_.data() + begin_, sizeof count);
  if (count == 0 || count > kFramesMax) return false;
  const std::size_t head = sizeof count + count * sizeof(std::uint64_t);
  if (end_ - begin_ < head) return true;
  incoming_.sizes.resize(count);
  std::memcpy(incoming_.sizes.data(), input_.data() + begin_ + sizeof count, head - sizeof count);
  begin_ += head;
  incoming_.announced = true;
  return std::ranges::all_of(incoming_.sizes,
                             [this](std::uint64_t size) { return (size & kMemory) != 0 || size <= max_frame_bytes_; });
}

bool LocalStream::begin_frame() {
  const std::uint64_t size = incoming_.sizes[incoming_.frames.size()];
  incoming_.filled = 0;
  if ((size & kMemory) == 0) {
    incoming_.frames.push_back(Frame::of_size(size));
    return true;
  }
  if (descriptors_.empty()) return false;
  auto block = memory::MemoryBlock::adopt(std::move(descriptors_.front()));
  descriptors_.pop_front();
  if (!block || (*block)->capacity() != (size & ~kMemory)) return false;
  incoming_.frames.push_back(Frame::share(std::move(*block)));
  return true;
}

// False: it needs more input.
bool LocalStream::fill_frame() {
  const std::size_t size = std::min(missing(), end_ - begin_);
  if (size > 0) std::memcpy(incoming_.frames.back().writable().data() + incoming_.filled, input_.data() + begin_, size);
  incoming_.filled += size;
  begin_ += size;
  return missing() == 0;
}

// One read: the rest of a large frame goes straight to its place, what follows it into the buffer.
bool LocalStream::read() {
  if (begin_ > 0) std::memmove(input_.data(), input_.data() + begin_, end_ - begin_);
  end_ -= std::exchange(begin_, 0);
  const std::size_t direct = incoming_.announced && end_ == 0 ? missing() : 0;
  iovec pieces[] = {{direct > 0 ? incoming_.frames.back().writable().data() + incoming_.filled : nullptr, direct},
                    {input_.data() + end_, input_.size() - end_}};
  alignas(cmsghdr) char rights[CMSG_SPACE(kDescriptorsMax * sizeof(int))];
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = 2;
  message.msg_control = rights;
  message.msg_controllen = sizeof rights;
  ssize_t got;
  do {
    got = ::recvmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return false;
  if (got > 0) take_descriptors(message, descriptors_);
  if (got <= 0 || (message.msg_flags & MSG_CTRUNC) != 0 || descriptors_.size() > kDescriptorsMax) {
    close();
    return false;
  }
  const std::size_t size = static_cast<std::size_t>(got), placed = std::min(size, direct);
  incoming_.filled += placed;
  end_ += size - placed;
  drained_ = size < direct + pieces[1].iov_len && message.msg_controllen == 0;
  return true;
}

// ---- sending ------------------------------------------------------------------------------------------------------

Sent LocalStream::send(Message& frames) {
  if (frames.size() > kFramesMax) frames.clear();  // over the limit: dropped, as over the network
  if (frames.empty()) return Sent::kYes;
  if (!takes_more()) return open_ && !deaf_ ? Sent::kFull : Sent::kNoSuchPeer;
  if (!passes_memory(frames) && bytes_of(frames) < kGather) {
    small_ += head_of(frames);
    for (const Frame& frame : frames) small_ += frame.text();
    frames.clear();
    return Sent::kYes;
  }
  if (!write_small()) return open_ && !deaf_ ? Sent::kFull : Sent::kNoSuchPeer;
  large_ = Outgoing{head_of(frames), std::move(frames), 0};
  frames.clear();
  write_large();
  return Sent::kYes;
}

bool LocalStream::takes_more() {
  if (large_ || small_.size() >= kMostGathered || stuck_since_ != TimePoint::max()) flush();
  return open_ && !deaf_ && !large_ && small_.size() < kMostGathered && stuck_since_ == TimePoint::max();
}

void LocalStream::flush() {
  if (open_ && !deaf_ && write_large()) write_small();
}

// Handles the result of a write. False: stop writing, for now or for good.
bool LocalStream::took(ssize_t wrote) {
  if (wrote >= 0) {
    stuck_since_ = TimePoint::max();
    return true;
  }
  if (errno == EAGAIN)
    stuck_since_ = std::min(stuck_since_, Clock::now());
  else if (errno != EINTR)
    drop_unsent();
  return errno == EINTR;
}

// What the peer sent before it went is still in our kernel's buffer, so reading goes on.
void LocalStream::drop_unsent() {
  deaf_ = true;
  small_.clear();
  small_sent_ = 0;
  large_.reset();
}

bool LocalStream::write_small() {
  while (small_sent_ < small_.size()) {
    const ssize_t wrote =
        ::send(fd_.get(), small_.data() + small_sent_, small_.size() - small_sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (!took(wrote)) return false;
    if (wrote > 0) small_sent_ += static_cast<std::size_t>(wrote);
  }
  small_.clear();
  small_sent_ = 0;
  return true;
}

// Descriptors go with the first byte of their message; the receiver reads the frames after it.
bool LocalStream::write_large() {
  while (large_) {
    std::vector<iovec> pieces;
    std::vector<UniqueFd> given;
    std::vector<int> rights;
    std::size_t skip = large_->sent;
    const auto add = [&](const char* data, std::size_t size) {
      const std::size_t skipped = std::min(skip, size);
      skip -= skipped;
      if (size > skipped && pieces.size() < kPiecesMax)
        pieces.push_back({const_cast<char*>(data) + skipped, size - skipped});
    };
    add(large_->head.data(), large_->head.size());
    for (const Frame& frame : large_->frames) {
      add(frame.text().data(), frame.size());
      if (!frame.block() || large_->sent > 0) continue;
      const UniqueFd& theirs = given.emplace_back(frame.block()->descriptor_to_give());
      rights.push_back(theirs ? theirs.get() : frame.block()->fd());
    }
    if (pieces.empty()) {
      large_.reset();
      return true;
    }
    std::vector<char> control(rights.empty() ? 0 : CMSG_SPACE(rights.size() * sizeof(int)));
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    if (!rights.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* part = CMSG_FIRSTHDR(&message);
      part->cmsg_level = SOL_SOCKET;
      part->cmsg_type = SCM_RIGHTS;
      part->cmsg_len = CMSG_LEN(rights.size() * sizeof(int));
      std::memcpy(CMSG_DATA(part), rights.data(), rights.size() * sizeof(int));
    }
    const ssize_t wrote = ::sendmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (!took(wrote)) return false;
    if (wrote < 0) continue;
    for (const Frame& frame : large_->frames)
      if (frame.block()) frame.block()->give_away();
    large_->sent += static_cast<std::size_t>(wrote);
  }
  return true;
}

}  // namespace pounce::transport
