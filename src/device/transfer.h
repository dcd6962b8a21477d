// Bytes to a device and back, through pinned memory: an upload of bytes as they come, a download piece by piece, and
// whole buffers whose pieces come in any order.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/devices.h"

namespace pounce::device {

// Bytes into a device's memory as they come: received into pinned memory, or copied there, and sent on to the device
// while the next ones come. The receiver is held up only while all chunks are on their way. Thread: one at a time, not
// the device's.
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

// A device's memory piece by piece: while one piece is read the next is on its way. Thread: one at a time, not the
// device's.
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

// Buffers on their way to a device: their pieces come in any order, from several threads. Nothing of the device is
// taken before the first of them. Thread: any but the device's.
struct Placed {
  explicit Placed(DeviceName name) : device(name) {}
  DeviceName device;
  std::vector<Buffer> buffers;
};
using Buffers = std::shared_ptr<const Placed>;

class Placement {
 public:
  using Open = std::function<Result<std::shared_ptr<Device>>()>;

  // `holder`: the purpose, as an "out of memory" error names it.
  Placement(DeviceName name, Open open, std::vector<std::uint64_t> sizes, std::string holder)
      : name_(name), open_(std::move(open)), sizes_(std::move(sizes)), holder_(std::move(holder)) {}
  ~Placement();  // waits for the copies; unfinished memory is freed after them
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  // Waits for the device to open, and for pinned memory while all of it is in use. After a failure every call fails.
  Result<void> write(std::size_t buffer, std::uint64_t offset, std::span<const std::byte> bytes);
  Result<Buffers> finish();  // waits until everything written is on the device, for later users of it

 private:
  Result<void> begin();  // once
  Result<void> fail(Error error);

  const DeviceName name_;
  const Open open_;
  const std::vector<std::uint64_t> sizes_;
  const std::string holder_;
  std::mutex mutex_;  // guards the three below; the first two do not change once they are set
  std::shared_ptr<Placed> placed_;
  std::shared_ptr<Device> device_;
  std::optional<Error> failed_;  // the first
  Mark last_{};                  // used on the device's thread
};

}  // namespace pounce::device
