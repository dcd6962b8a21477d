// GPUs: one device through the CUDA runtime, and all that this process sees.

#include <cstdio>
#include <deque>
#include <functional>
#include <vector>

#include "device/cuda_runtime.h"
#include "device/driver.h"
#include "device/nccl.h"

namespace pounce::device {

// A GPU through the CUDA runtime. Thread: the device's.
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

Result<std::unique_ptr<Driver>> CudaDriver::open(std::shared_ptr<const CudaRuntime> cuda, Ordinal which, Join join) {
  if (which.value >= static_cast<std::uint32_t>(cuda->count))
    return failure(ErrorCode::kDeviceUnavailable, "there is no device " + std::to_string(which.value) + " here",
                   "This worker has " + std::to_string(cuda->count) +
                       ". Ask for more: gpus=" + std::to_string(which.value + 1) + ".");
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

namespace {

std::string uuid_words(const unsigned char (&bytes)[16]) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    char digits[4];
    std::snprintf(digits, sizeof digits, "%s%02x", i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                  bytes[i]);
    text += digits;
  }
  return text;
}

class CudaBackend final : public Backend {
 public:
  CudaBackend(std::shared_ptr<const CudaRuntime> cuda, std::vector<std::string> nccl)
      : cuda_(std::move(cuda)), nccl_(std::make_shared<LateNccl>(std::move(nccl))) {}

  Result<std::vector<DeviceFacts>> devices() override {
    std::vector<DeviceFacts> all;
    for (int i = 0; i < cuda_->count; ++i) {
      CudaProperties is{};
      if (auto told = cuda_->check(cuda_->properties(&is, i), "tell a device's properties"); !told)
        return failure(told.error());
      DeviceFacts facts;
      facts.uuid = uuid_words(is.uuid);
      facts.model = is.name;
      facts.memory.total_bytes = is.total_memory;
      all.push_back(facts);
    }
    return all;
  }

  Result<std::unique_ptr<Driver>> open(Ordinal which) override {
    return CudaDriver::open(cuda_, which,
                            [cuda = cuda_, nccl = nccl_](const GroupId& id, Rank rank, std::uint32_t ranks) {
                              return nccl->get().and_then([&](std::shared_ptr<const Nccl> calls) {
                                return NcclGroup::join(cuda, std::move(calls), id, rank, ranks);
                              });
                            });
  }

  Result<GroupId> new_group() override {
    return nccl_->get().and_then([](const std::shared_ptr<const Nccl>& calls) { return calls->new_group(); });
  }

 private:
  std::shared_ptr<const CudaRuntime> cuda_;
  std::shared_ptr<LateNccl> nccl_;  // shared with the drivers
};

}  // namespace

Result<std::unique_ptr<Backend>> cuda_backend(CudaLibraries libraries) {
  return CudaRuntime::open(libraries.runtime)
      .map([&](std::shared_ptr<const CudaRuntime> cuda) -> std::unique_ptr<Backend> {
        return std::make_unique<CudaBackend>(std::move(cuda), std::move(libraries.nccl));
      });
}

}  // namespace pounce::device
