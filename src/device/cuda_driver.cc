#include "device/cuda_driver.h"

#include "device/cuda_error.h"

namespace pounce::device {

Result<std::unique_ptr<Driver>> CudaDriver::open(std::shared_ptr<const CudaRuntime> cuda, Ordinal which, Join join) {
  if (which.value >= static_cast<std::uint32_t>(cuda->count))
    return failure(ErrorCode::kDeviceUnavailable, "there is no device " + std::to_string(which.value) + " here");
  std::unique_ptr<CudaDriver> driver(new CudaDriver(std::move(cuda), std::move(join)));
  const CudaRuntime& calls = *driver->cuda_;
  if (auto is = calls.check(calls.set_device(static_cast<int>(which.value)), "use the device"); !is)
    return failure(is.error());
  // A non-blocking stream: the user's kernels go on while data comes.
  if (auto is = calls.check(calls.stream_create(&driver->stream_, cuda::kNonBlockingStream), "make a stream"); !is)
    return failure(is.error());
  return driver;
}

// Runs on a failed device too. What such a device does not take back is freed with the process.
CudaDriver::~CudaDriver() {
  for (const auto event : under_way_) cuda_->event_synchronize(event), cuda_->event_destroy(event);
  for (const auto event : spare_) cuda_->event_destroy(event);
  if (stream_ != nullptr) cuda_->stream_destroy(stream_);
}

Result<MemoryRoom> CudaDriver::room() {
  std::size_t free = 0, total = 0;
  if (auto is = cuda_->check(cuda_->memory_info(&free, &total), "tell the memory"); !is) return failure(is.error());
  return MemoryRoom{free, total};
}

Result<std::byte*> CudaDriver::allocate(std::size_t size) {
  void* memory = nullptr;
  if (auto is = cuda_->check(cuda_->malloc(&memory, size), "take memory"); !is) return failure(is.error());
  return static_cast<std::byte*>(memory);
}

Result<void> CudaDriver::free(std::byte* memory) { return cuda_->check(cuda_->free(memory), "give memory back"); }

Result<void> CudaDriver::pin(std::span<std::byte> host) {
  return cuda_->check(cuda_->host_register(host.data(), host.size(), cuda::kPlainRegister), "pin memory");
}

Result<void> CudaDriver::unpin(std::span<std::byte> host) {
  return cuda_->check(cuda_->host_unregister(host.data()), "unpin memory");
}

Result<Mark> CudaDriver::copy_in(std::byte* to, std::span<const std::byte> from) {
  return copy(to, from.data(), from.size(), cuda::kHostToDevice);
}

Result<Mark> CudaDriver::copy_out(std::span<std::byte> to, const std::byte* from) {
  return copy(to.data(), from, to.size(), cuda::kDeviceToHost);
}

Result<Mark> CudaDriver::copy(void* to, const void* from, std::size_t size, int kind) {
  const auto event = spare_event();
  if (!event) return failure(event.error());
  const char* doing = kind == cuda::kHostToDevice ? "copy to the device" : "copy from the device";
  auto begun = cuda_->check(cuda_->memcpy_async(to, from, size, kind, stream_), doing);
  if (begun) begun = cuda_->check(cuda_->event_record(*event, stream_), doing);
  if (!begun) {
    spare_.push_back(*event);
    return failure(begun.error());
  }
  under_way_.push_back(*event);
  return Mark{first_ + under_way_.size() - 1};
}

Result<CudaRuntime::Event> CudaDriver::spare_event() {
  CudaRuntime::Event event = nullptr;
  if (spare_.empty()) {
    if (auto is = cuda_->check(cuda_->event_create(&event, cuda::kNoTiming), "make an event"); !is)
      return failure(is.error());
    return event;
  }
  event = spare_.back();
  spare_.pop_back();
  return event;
}

Result<void> CudaDriver::wait(Mark mark) {
  if (mark.value < first_) return {};  // a wait for a later copy has covered it
  const auto done = cuda_->check(cuda_->event_synchronize(under_way_.at(mark.value - first_)), "end a copy");
  for (; first_ <= mark.value; ++first_) {
    spare_.push_back(under_way_.front());
    under_way_.pop_front();
  }
  return done;
}

}  // namespace pounce::device
