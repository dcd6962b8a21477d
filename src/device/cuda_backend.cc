#include "device/cuda_backend.h"

#include <cstdio>
#include <mutex>

#include "device/cuda_driver.h"
#include "device/nccl.h"
#include "device/nccl_group.h"

namespace pounce::device {
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
