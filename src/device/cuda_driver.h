// A GPU through the CUDA runtime. For this folder only. Thread: the device's.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "device/cuda_runtime.h"
#include "device/driver.h"

namespace pounce::device {

class CudaDriver final : public Driver {
 public:
  // Lets a rank join. The first one loads NCCL.
  using Join = std::function<Result<std::unique_ptr<Group>>(const GroupId&, Rank, std::uint32_t ranks)>;

  static Result<std::unique_ptr<Driver>> open(std::shared_ptr<const CudaRuntime> cuda, Ordinal which, Join join);
  ~CudaDriver() override;

  Result<MemoryRoom> room() override;
  Result<std::byte*> allocate(std::size_t size) override;
  Result<void> free(std::byte* memory) override;
  Result<void> pin(std::span<std::byte> host) override;
  Result<void> unpin(std::span<std::byte> host) override;
  Result<Mark> copy_in(std::byte* to, std::span<const std::byte> from) override;
  Result<Mark> copy_out(std::span<std::byte> to, const std::byte* from) override;
  Result<void> wait(Mark mark) override;
  Result<std::unique_ptr<Group>> join(const GroupId& id, Rank rank, std::uint32_t ranks) override {
    return join_(id, rank, ranks);
  }
  std::uintptr_t stream() const override { return reinterpret_cast<std::uintptr_t>(stream_); }

 private:
  CudaDriver(std::shared_ptr<const CudaRuntime> cuda, Join join) : cuda_(std::move(cuda)), join_(std::move(join)) {}
  Result<Mark> copy(void* to, const void* from, std::size_t size, int kind);
  Result<CudaRuntime::Event> spare_event();

  std::shared_ptr<const CudaRuntime> cuda_;
  Join join_;
  CudaRuntime::Stream stream_ = nullptr;      // one for both directions, which keeps their order
  std::deque<CudaRuntime::Event> under_way_;  // one for each copy from first_ on
  std::vector<CudaRuntime::Event> spare_;
  std::uint64_t first_ = 1;
};

}  // namespace pounce::device
