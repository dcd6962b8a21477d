#include "transport/frame.h"

#include <cstring>

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
  frame.impl_->message =
      zmq::message_t(const_cast<std::byte*>(bytes.data()), bytes.size(), &call_release, hint.get());
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

}  // namespace pounce::transport
