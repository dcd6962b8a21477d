// NCCL's functions that we call, found in the library when it is opened (names and layouts of NCCL 2.14 and newer), and
// a group of GPUs made of them. For this folder only. Thread: a communicator's calls are made on its device's thread.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda_runtime.h"
#include "device/driver.h"

namespace pounce::device {

// ncclResult_t; tests/unit/device/nccl_declarations_test.cc compares all of this with NCCL's own header.
namespace nccl {

inline constexpr int kSuccess = 0, kUnhandledCuda = 1, kSystem = 2, kInternal = 3, kInvalidArgument = 4,
                     kInvalidUsage = 5, kRemote = 6, kInProgress = 7, kTimeout = 8;
inline constexpr int kBytes = 0;  // ncclInt8

struct UniqueId {
  char bytes[128];
};

struct Config {  // ncclConfig_t as of 2.14 (gotchas G4)
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 0;
};

}  // namespace nccl

struct Nccl {
  using Comm = void*;

  int (*version)(int*);
  int (*unique_id)(nccl::UniqueId*);
  int (*init_rank)(Comm*, int ranks, nccl::UniqueId, int rank, nccl::Config*);
  int (*async_error)(Comm, int*);
  int (*broadcast)(const void* from, void* to, std::size_t count, int type, int root, Comm, void* stream);
  int (*finalize)(Comm);
  int (*destroy)(Comm);
  int (*abort)(Comm);
  const char* (*error_string)(int);
  const char* (*last_error)(Comm);

  Result<void> check(int code, std::string_view doing, Comm comm = nullptr) const;  // kInProgress is no error
  Result<GroupId> new_group() const;

  // kDeviceUnavailable: NCCL is missing, of another major version, or too old.
  static Result<std::shared_ptr<const Nccl>> open(const std::vector<std::string>& libraries);
};

// The only place that maps numbers of NCCL to errors.
Error nccl_error(int code, std::string_view doing, std::string_view words);

// Opens NCCL at its first use, since one GPU needs none. Thread: any.
class LateNccl {
 public:
  explicit LateNccl(std::vector<std::string> libraries) : libraries_(std::move(libraries)) {}
  Result<std::shared_ptr<const Nccl>> get();

 private:
  const std::vector<std::string> libraries_;
  std::mutex mutex_;  // guards opened_
  std::optional<Result<std::shared_ptr<const Nccl>>> opened_;
};

// One rank of a NCCL communicator that does not block: each call begins something, and NCCL tells how far it is.
// Thread: the device's.
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
  enum class State { kPending, kOnDevice, kIdle, kLeaving };

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
