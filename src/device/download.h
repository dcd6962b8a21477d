// Reads a device's memory piece by piece, through pinned memory: while one piece is read the next is on its way.
// Thread: one at a time, not the device's.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>

#include "device/buffer.h"
#include "device/device.h"

namespace pounce::device {

class Download {
 public:
  explicit Download(const Buffer& from) : from_(from) {}  // `from` outlives this
  ~Download();
  Download(const Download&) = delete;
  Download& operator=(const Download&) = delete;

  Result<std::span<const std::byte>> next();  // valid until the next call; empty: that was all

 private:
  struct Piece {
    StagingChunk chunk;
    std::size_t size = 0;
  };
  Result<void> look_ahead();
  Result<void> begin(StagingChunk chunk);

  const Buffer& from_;
  std::size_t begun_ = 0;
  std::deque<Piece> coming_;
  std::optional<StagingChunk> read_;  // the piece that the caller has
};

}  // namespace pounce::device
