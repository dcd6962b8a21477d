#include <algorithm>
#include <chrono>
#include <cstring>

#include "device/device.h"
#include "device/transfer.h"
#include "gpu/device_speed.h"

namespace pounce::device {
namespace {

// Pinned for as long as it is used, as whoever compares with it would.
class PinnedMemory {
 public:
  static Result<std::unique_ptr<PinnedMemory>> make(Device& device, std::size_t size) {
    std::unique_ptr<PinnedMemory> memory(new PinnedMemory(device, size));
    if (auto pinned = device.thread().run([&] { return device.driver().pin(memory->bytes_); }); !pinned)
      return failure(pinned.error());
    memory->pinned_ = true;
    return memory;
  }
  ~PinnedMemory() {
    if (pinned_) device_.thread().run([this] { return device_.driver().unpin(bytes_); });
  }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  Bytes& bytes() { return bytes_; }

 private:
  PinnedMemory(Device& device, std::size_t size) : device_(device), bytes_(numbered(size, 1)) {}
  Device& device_;
  Bytes bytes_;
  bool pinned_ = false;
};

template <class Act>
Result<double> seconds_of(Act act) {
  const auto begin = std::chrono::steady_clock::now();
  if (Result<void> done = act(); !done) return failure(done.error());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

class CopySpeed {
 public:
  CopySpeed(Device& device, Buffer buffer, PinnedMemory& pinned)
      : device_(device),
        buffer_(std::move(buffer)),
        pinned_(pinned),
        bytes_(numbered(buffer_.size(), 2)),
        back_(buffer_.size()) {}

  Result<void> pinned_in() {
    return one_copy([this] { return device_.driver().copy_in(buffer_.data(), pinned_.bytes()); });
  }
  Result<void> pinned_out() {
    return one_copy([this] { return device_.driver().copy_out(pinned_.bytes(), buffer_.data()); });
  }
  // As data that is received where it stays: nothing is copied on the host.
  Result<void> received() {
    Upload upload(buffer_);
    for (;;) {
      const auto room = upload.room();
      if (!room) return failure(room.error());
      if (room->empty()) return upload.finish();
      upload.filled(room->size());
    }
  }
  // Data that lies in ordinary memory.
  Result<void> written() {
    Upload upload(buffer_);
    return upload.write(bytes_).and_then([&] { return upload.finish(); });
  }
  Result<void> sent() {
    Download download(buffer_);
    return each_piece(download, [](std::size_t, std::span<const std::byte>) {});
  }
  Result<void> read() {
    Download download(buffer_);
    return each_piece(download, [this](std::size_t at, std::span<const std::byte> piece) {
      std::memcpy(back_.data() + at, piece.data(), piece.size());
    });
  }
  bool came_back() const { return back_ == bytes_; }

 private:
  template <class Begin>
  Result<void> one_copy(Begin begin) {
    return device_.thread().run([&]() -> Result<void> {
      const auto mark = begin();
      return mark ? device_.driver().wait(*mark) : failure(mark.error());
    });
  }
  template <class Take>
  Result<void> each_piece(Download& download, Take take) {
    for (std::size_t at = 0;;) {
      const auto piece = download.next();
      if (!piece) return failure(piece.error());
      if (piece->empty()) return {};
      take(at, *piece);
      at += piece->size();
    }
  }

  Device& device_;
  Buffer buffer_;
  PinnedMemory& pinned_;
  const Bytes bytes_;
  Bytes back_;
};

}  // namespace

Bytes numbered(std::size_t size, std::uint64_t seed) {
  Bytes bytes(size);
  std::uint64_t state = seed;
  for (std::size_t at = 0; at + sizeof state <= size; at += sizeof state) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::memcpy(bytes.data() + at, &state, sizeof state);
  }
  return bytes;
}

double gigabytes_a_second(std::size_t size, double seconds) { return static_cast<double>(size) / seconds / 1e9; }

Result<nlohmann::json> copy_speed(Backend& backend, std::size_t size, int rounds) {
  const auto device = Device::open(backend, Ordinal{0});
  if (!device) return failure(device.error());
  auto buffer = (*device)->allocate(size, "device_speed");
  if (!buffer) return failure(buffer.error());
  const auto pinned = PinnedMemory::make(**device, size);
  if (!pinned) return failure(pinned.error());
  CopySpeed speed(**device, std::move(*buffer), **pinned);

  struct Way {
    const char* name;
    Result<void> (CopySpeed::*go)();
  };
  // In turns, so that all have the same chances; the last two tell whether what went there comes back.
  constexpr Way kWays[] = {{"pinned_in", &CopySpeed::pinned_in},   {"received", &CopySpeed::received},
                           {"pinned_out", &CopySpeed::pinned_out}, {"sent", &CopySpeed::sent},
                           {"written", &CopySpeed::written},       {"read", &CopySpeed::read}};
  nlohmann::json best = nlohmann::json::object();
  for (int round = 0; round <= rounds; ++round)  // the first warms up
    for (const Way& way : kWays) {
      const auto took = seconds_of([&] { return (speed.*way.go)(); });
      if (!took) return failure(took.error());
      if (round > 0) best[way.name] = std::max(best.value(way.name, 0.0), gigabytes_a_second(size, *took));
    }
  return nlohmann::json{{"bytes", size}, {"gigabytes_a_second", best}, {"right", speed.came_back()}};
}

}  // namespace pounce::device
