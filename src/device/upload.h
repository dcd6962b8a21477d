// Bytes into a device's memory as they come: received into pinned memory, or copied there, and copied from there to
// the device while the next ones come. The receiver waits only when all chunks are in use. Thread: one at a time, not
// the device's.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <span>

#include "device/buffer.h"
#include "device/device.h"

namespace pounce::device {

class Upload {
 public:
  explicit Upload(const Buffer& to) : to_(to) {}  // `to` outlives this
  ~Upload();                                      // an unfinished upload stays incomplete; no copy goes on
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;

  // Where the next bytes may be received; empty: all have come. Waits for a chunk. finish() returns the same error.
  Result<std::span<std::byte>> room();
  void filled(std::size_t size);  // so many bytes of room() are filled

  Result<void> write(std::span<const std::byte> bytes);  // the same for bytes that lie elsewhere
  Result<void> finish();  // waits until all are on the device; kBadRequest: not all have come

 private:
  std::size_t came() const { return sent_ + used_; }
  void send();
  Result<StagingChunk> take();

  const Buffer& to_;
  std::optional<StagingChunk> chunk_;
  std::size_t used_ = 0, sent_ = 0;
  bool finished_ = false;
  std::atomic<bool> in_vain_ = false;  // a copy failed: the receiver need not go on
  // Used on the device's thread:
  Mark last_{};
  std::optional<Error> failed_;  // the first
};

}  // namespace pounce::device
