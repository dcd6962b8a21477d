// One rank of a NCCL communicator that does not block: each call begins something, and NCCL is asked how far it is. For
// this folder only. Thread: the device's.
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
  enum class State {
    kAsked,
    kOnDevice,
    kIdle,
    kLeaving
  };  // asked of NCCL; a kernel is on the stream; nothing; all are going

  NcclGroup(std::shared_ptr<const CudaRuntime> cuda, std::shared_ptr<const Nccl> nccl)
      : cuda_(std::move(cuda)), nccl_(std::move(nccl)) {}
  Result<bool> kernel_is_done();

  std::shared_ptr<const CudaRuntime> cuda_;
  std::shared_ptr<const Nccl> nccl_;
  CudaRuntime::Stream stream_ = nullptr;  // of its own: copies go on while a rank is waited for
  CudaRuntime::Event event_ = nullptr;
  Nccl::Comm comm_ = nullptr;
  State state_ = State::kAsked;
  bool sends_ = false;  // what was asked for puts a kernel on the stream
};

}  // namespace pounce::device
