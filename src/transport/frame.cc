#include "transport/frame.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "transport/zmq_parts.h"

namespace pounce::transport {
namespace {

void call_release(void*, void* hint) {
  const std::unique_ptr<std::function<void()>> release(static_cast<std::function<void()>*>(hint));
  (*release)();
}

}  // namespace

Frame::Frame() : impl_(std::make_unique<Impl>()) {}
Frame::Frame(Frame&&) noexcept = default;
Frame& Frame::operator=(Frame&&) noexcept = default;
Frame::~Frame() = default;

Frame Frame::copy(std::string_view bytes) {
  Frame frame;
  frame.impl_->message = zmq::message_t(bytes.data(), bytes.size());
  return frame;
}

Frame Frame::borrow(std::span<const std::byte> bytes, std::function<void()> release) {
  auto hint = std::make_unique<std::function<void()>>(std::move(release));
  Frame frame;
  // libzmq only reads what it sends; its C interface has no const.
  frame.impl_->message = zmq::message_t(const_cast<std::byte*>(bytes.data()), bytes.size(), &call_release, hint.get());
  hint.release();
  return frame;
}

Frame Frame::share(std::shared_ptr<memory::MemoryBlock> block) {
  Frame frame;
  frame.impl_->block = std::move(block);
  return frame;
}

Frame Frame::of_size(std::size_t size) {
  Frame frame;
  frame.impl_->message = zmq::message_t(size);
  return frame;
}

const std::shared_ptr<memory::MemoryBlock>& Frame::block() const { return impl_->block; }

std::span<const std::byte> Frame::bytes() const {
  return {static_cast<const std::byte*>(impl_->message.data()), impl_->message.size()};
}

std::span<std::byte> Frame::writable() {
  return {static_cast<std::byte*>(impl_->message.data()), impl_->message.size()};
}

std::string_view Frame::text() const {
  return {static_cast<const char*>(impl_->message.data()), impl_->message.size()};
}

namespace {

static_assert(std::endian::native == std::endian::little);  // as on the wire

using Size = std::uint32_t;

std::size_t packed_size(const Message& frames) {
  std::size_t size = sizeof(Size);
  for (const Frame& frame : frames) size += sizeof(Size) + frame.size();
  return size;
}

bool may_be_packed(const Message& frames) {
  if (frames.empty() || frames.size() > kPackedFrames) return false;
  for (const Frame& frame : frames)
    if (frame.block() != nullptr) return false;
  return true;
}

void append(std::string& bytes, std::size_t number) {
  const auto size = static_cast<Size>(number);
  bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
}

bool take(std::string_view& bytes, std::size_t& number) {
  Size size = 0;
  if (bytes.size() < sizeof size) return false;
  std::memcpy(&size, bytes.data(), sizeof size);
  bytes.remove_prefix(sizeof size);
  number = size;
  return true;
}

std::optional<Message> take_message(std::string_view& bytes) {
  std::size_t frames = 0;
  if (!take(bytes, frames) || frames == 0 || frames > kPackedFrames) return std::nullopt;
  Message message;
  message.reserve(frames);
  for (std::size_t i = 0; i < frames; ++i) {
    std::size_t size = 0;
    if (!take(bytes, size) || size > bytes.size()) return std::nullopt;
    message.push_back(Frame::copy(bytes.substr(0, size)));
    bytes.remove_prefix(size);
  }
  return message;
}

}  // namespace

std::size_t packable(const std::deque<Message>& messages) {
  std::size_t count = 0, bytes = 0;
  for (const Message& frames : messages) {
    if (count == kPackedMost || !may_be_packed(frames)) break;
    bytes += packed_size(frames);
    if (bytes > kPackedBytes) break;
    ++count;
  }
  return count == 0 ? 1 : count;
}

Frame pack(const std::deque<Message>& messages, std::size_t count) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) {
    append(bytes, messages[i].size());
    for (const Frame& frame : messages[i]) {
      append(bytes, frame.size());
      bytes += frame.text();
    }
  }
  return Frame::copy(bytes);
}

std::optional<std::vector<Message>> unpack(std::string_view bytes, std::size_t count) {
  if (count == 0 || count > kPackedMost || bytes.size() > kPackedBytes) return std::nullopt;
  std::vector<Message> messages;
  while (messages.size() < count) {
    auto message = take_message(bytes);
    if (!message) return std::nullopt;
    messages.push_back(std::move(*message));
  }
  if (!bytes.empty()) return std::nullopt;
  return messages;
}

}  // namespace pounce::transport
