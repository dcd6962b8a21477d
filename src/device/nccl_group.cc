#include "device/nccl_group.h"

#include <cstring>

#include "device/cuda_error.h"

namespace pounce::device {

Result<std::unique_ptr<Group>> NcclGroup::join(std::shared_ptr<const CudaRuntime> cuda,
                                               std::shared_ptr<const Nccl> nccl, const GroupId& id, Rank rank,
                                               std::uint32_t ranks) {
  std::unique_ptr<NcclGroup> group(new NcclGroup(std::move(cuda), std::move(nccl)));
  if (auto is =
          group->cuda_->check(group->cuda_->stream_create(&group->stream_, cuda::kNonBlockingStream), "make a stream");
      !is)
    return failure(is.error());
  if (auto is = group->cuda_->check(group->cuda_->event_create(&group->event_, cuda::kNoTiming), "make an event"); !is)
    return failure(is.error());
  nccl::UniqueId unique;
  std::memcpy(unique.bytes, id.bytes().data(), sizeof unique.bytes);
  nccl::Config config;
  const int code =
      group->nccl_->init_rank(&group->comm_, static_cast<int>(ranks), unique, static_cast<int>(rank.value), &config);
  if (auto is = group->nccl_->check(code, "join the group"); !is) return failure(is.error());
  return group;
}

NcclGroup::~NcclGroup() {
  abort();
  if (event_ != nullptr) cuda_->event_destroy(event_);
  if (stream_ != nullptr) cuda_->stream_destroy(stream_);
}

Result<void> NcclGroup::broadcast(std::byte* memory, std::size_t size, Rank from) {
  state_ = State::kPending, sends_ = true;
  return nccl_->check(
      nccl_->broadcast(memory, memory, size, nccl::kBytes, static_cast<int>(from.value), comm_, stream_), "broadcast",
      comm_);
}

// Does not end at once, since the last bytes may still be on their way from here (gotchas G5).
Result<void> NcclGroup::leave() {
  state_ = State::kLeaving;
  return nccl_->check(nccl_->finalize(comm_), "leave the group", comm_);
}

Result<bool> NcclGroup::is_done() {
  if (state_ == State::kIdle) return true;
  int state = nccl::kSuccess;
  if (auto is = nccl_->check(nccl_->async_error(comm_, &state), "go on", comm_); !is) return failure(is.error());
  if (auto is = nccl_->check(state, "go on", comm_); !is) return failure(is.error());
  if (state == nccl::kInProgress) return false;
  if (state_ == State::kLeaving) {
    state_ = State::kIdle;
    if (auto is = nccl_->check(nccl_->destroy(std::exchange(comm_, nullptr)), "end the group"); !is)
      return failure(is.error());
    return true;
  }
  return kernel_is_done();
}

// NCCL reports success once the kernel is on the stream. The stream must not be used before that. An event reports
// the kernel's end.
Result<bool> NcclGroup::kernel_is_done() {
  if (state_ == State::kPending && sends_) {
    if (auto is = cuda_->check(cuda_->event_record(event_, stream_), "broadcast"); !is) return failure(is.error());
    state_ = State::kOnDevice;
  }
  if (state_ == State::kOnDevice) {
    const int code = cuda_->event_query(event_);
    if (code == cuda::kNotReady) {
      cuda_->last_error();  // gotchas G1
      return false;
    }
    if (auto is = cuda_->check(code, "broadcast"); !is) return failure(is.error());
  }
  state_ = State::kIdle, sends_ = false;
  return true;
}

void NcclGroup::abort() {
  if (comm_ != nullptr) nccl_->abort(std::exchange(comm_, nullptr));
}

}  // namespace pounce::device
