#include "tls/message_framing.h"

#include <utility>

#include "base/check.h"

namespace pounce::tls {
namespace {

constexpr std::size_t kCountBytes = 4, kSizeBytes = 8;

void append_number(std::string& text, std::uint64_t number, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) text.push_back(static_cast<char>(number >> (8 * i) & 0xff));
}

std::uint64_t number_at(std::span<const std::byte> bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<std::uint8_t>(bytes[i]);
  return number;
}

}  // namespace

void MessageWriter::add(Message frames) {
  POUNCE_CHECK(!frames.empty(), "a message has a frame");
  Waiting added;
  append_number(added.prefix, frames.size(), kCountBytes);
  for (const Frame& frame : frames) {
    append_number(added.prefix, frame.size(), kSizeBytes);
    bytes_ += frame.size();
  }
  bytes_ += added.prefix.size();
  added.frames = std::move(frames);
  waiting_.push_back(std::move(added));
}

std::span<const std::byte> MessageWriter::next() const {
  const Waiting& first = waiting_.front();
  const auto whole = piece_ == 0 ? std::as_bytes(std::span(first.prefix)) : first.frames[piece_ - 1].bytes();
  return whole.subspan(offset_);
}

void MessageWriter::took(std::size_t count) {
  offset_ += count;
  bytes_ -= count;
  while (!waiting_.empty() && next().empty()) {
    if (piece_ > 0) waiting_.front().frames[piece_ - 1] = Frame();
    ++piece_;
    offset_ = 0;
    if (piece_ <= waiting_.front().frames.size()) continue;
    waiting_.pop_front();
    piece_ = 0;
  }
}

std::span<std::byte> MessageReader::wanted() {
  if (phase_ == Phase::kFrames) return place_.subspan(filled_);
  POUNCE_CHECK(phase_ != Phase::kWhole, "a message that is whole was not taken");
  return std::span(prefix_).subspan(filled_);
}

Result<void> MessageReader::took(std::size_t count) {
  filled_ += count;
  const std::size_t all = phase_ == Phase::kFrames ? place_.size() : prefix_.size();
  if (filled_ < all) return {};
  filled_ = 0;
  if (phase_ == Phase::kCount) return read_count();
  if (phase_ == Phase::kSizes) return read_sizes();
  begin_frame();
  return {};
}

Result<void> MessageReader::read_count() {
  const std::uint64_t count = number_at(prefix_);
  if (count == 0 || count > max_frames_)
    return failure(ErrorCode::kProtocol, "a message of " + std::to_string(count) + " frames was announced");
  prefix_.resize(count * kSizeBytes);
  phase_ = Phase::kSizes;
  return {};
}

Result<void> MessageReader::read_sizes() {
  for (std::size_t at = 0; at < prefix_.size(); at += kSizeBytes) {
    sizes_.push_back(number_at(std::span(prefix_).subspan(at, kSizeBytes)));
    if (sizes_.back() > max_frame_bytes_)
      return failure(ErrorCode::kProtocol, "a frame of " + std::to_string(sizes_.back()) + " bytes was announced");
  }
  phase_ = Phase::kFrames;
  begin_frame();
  return {};
}

// Allocates frame by frame: a peer that announces much and sends nothing costs no memory.
void MessageReader::begin_frame() {
  while (frames_.size() < sizes_.size()) {
    const std::size_t number = frames_.size(), size = sizes_[number];
    Destination place;
    if (number > 0 && size > 0 && placer_) place = placer_(frames_.front().text(), number, size);
    if (size > 0 && place.bytes.size() == size)
      frames_.push_back(Frame::borrow(place.bytes, [keeps = std::move(place.keeps)] {}));
    else
      frames_.push_back(own_frame(size));
    place_ = frames_.back().writable();
    if (size > 0) return;
  }
  phase_ = Phase::kWhole;
}

// Not zeroed: every byte is written before it is read.
Frame MessageReader::own_frame(std::size_t size) {
  if (size == 0) return {};
  const std::shared_ptr<std::byte[]> memory(new std::byte[size]);
  return Frame::borrow({memory.get(), size}, [memory] {});
}

std::optional<Message> MessageReader::message() {
  if (phase_ != Phase::kWhole) return std::nullopt;
  phase_ = Phase::kCount;
  prefix_.resize(kCountBytes);
  sizes_.clear();
  return std::exchange(frames_, {});
}

}  // namespace pounce::tls
