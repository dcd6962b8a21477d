// One rank of a non-blocking NCCL communicator: each call begins its work, and is_done() polls NCCL. For this folder
// only. Thread: the device's.
#pragma once

#include "device/cuda_runtime.h"
#include "device/nccl.h"

namespace pounce::device {

class NcclGroup final : public Group {
 public:
  static Result<std::unique_ptr<Group>> join(std::shared_ptr<const CudaRuntime> cuda, std::shared_ptr<const Nccl> nccl,
                                             const GroupId& id, Rank rank, std::uint32_t ranks);
  ~NcclGroup() override;

  Result<void> broadcast(std::byte* memory, std::size_t size, Rank from) override;
  Result<void> leave() override;
  Result<bool> is_done() override;
  void abort() override;

 private:
  // NCCL works on a call; a kernel is on the stream; nothing goes on; all ranks leave.
  enum class State {
    kPending,
    kOnDevice,
    kIdle,
    kLeaving
  };

  NcclGroup(std::shared_ptr<const CudaRuntime> cuda, std::shared_ptr<const Nccl> nccl)
      : cuda_(std::move(cuda)), nccl_(std::move(nccl)) {}
  Result<bool> kernel_is_done();

  std::shared_ptr<const CudaRuntime> cuda_;
  std::shared_ptr<const Nccl> nccl_;
  CudaRuntime::Stream stream_ = nullptr;  // its own, so that copies go on while the rank waits
  CudaRuntime::Event event_ = nullptr;
  Nccl::Comm comm_ = nullptr;
  State state_ = State::kPending;
  bool sends_ = false;  // the pending call puts a kernel on the stream
};

}  // namespace pounce::device
