#include "device/nccl.h"

#include <array>
#include <cstring>

#include "device/shared_library.h"

namespace pounce::device {
namespace {

constexpr int kOldest = 21400;  // the first with non-blocking communicators
constexpr int kMajor = 2;
constexpr char kNcclRemedy[] =
    "Install nvidia-nccl-cu13 (or -cu12, as the CUDA runtime is) where the worker's Python finds it; torch brings it.";

// 2.8 and older: 2804; newer: 20900.
int major_of(int version) { return version < 10000 ? version / 1000 : version / 10000; }

std::string nccl_version_words(int version) {
  const int minor_unit = version < 10000 ? 1000 : 10000;
  return std::to_string(version / minor_unit) + "." + std::to_string(version % minor_unit / 100);
}

bool find_nccl(SharedLibrary& library, Nccl& calls) {
  return library.find("ncclGetVersion", calls.version) && library.find("ncclGetUniqueId", calls.unique_id) &&
         library.find("ncclCommInitRankConfig", calls.init_rank) &&
         library.find("ncclCommGetAsyncError", calls.async_error) && library.find("ncclBroadcast", calls.broadcast) &&
         library.find("ncclCommFinalize", calls.finalize) && library.find("ncclCommDestroy", calls.destroy) &&
         library.find("ncclCommAbort", calls.abort) && library.find("ncclGetErrorString", calls.error_string) &&
         library.find("ncclGetLastError", calls.last_error);
}

// Checks the version first, since another version may lack a function.
Result<std::shared_ptr<const Nccl>> opened_nccl(SharedLibrary library) {
  const auto calls = std::make_shared<Nccl>();
  int version = 0;
  if (!library.find("ncclGetVersion", calls->version) || calls->version(&version) != nccl::kSuccess)
    return failure(ErrorCode::kDeviceUnavailable, library.name() + " does not tell its version", kNcclRemedy);
  if (major_of(version) != kMajor || version < kOldest)
    return failure(ErrorCode::kDeviceUnavailable,
                   "NCCL is of version " + nccl_version_words(version) + ", and 2.14 or a newer 2 is needed",
                   kNcclRemedy);
  if (!find_nccl(library, *calls))
    return failure(ErrorCode::kDeviceUnavailable, library.name() + " has no function " + library.missing(),
                   kNcclRemedy);
  return calls;
}

ErrorCode code_of_nccl(int code) {
  switch (code) {
    case nccl::kUnhandledCuda:
      return ErrorCode::kDeviceFailed;
    case nccl::kInvalidArgument:
    case nccl::kInvalidUsage:  // for example two ranks on one device
      return ErrorCode::kBadRequest;
    case nccl::kSystem:  // the network or shared memory between the ranks
    case nccl::kRemote:
      return ErrorCode::kLost;
    case nccl::kTimeout:
      return ErrorCode::kTimeout;
    default:
      return ErrorCode::kInternal;
  }
}

}  // namespace

Error nccl_error(int code, std::string_view doing, std::string_view words) {
  Error error{code_of_nccl(code),
              "NCCL could not " + std::string(doing) + ": " + std::string(words),
              {},
              {{"nccl_error", std::to_string(code)}}};
  if (error.code == ErrorCode::kInternal) error.text += " (" + std::to_string(code) + ")";
  return error;
}

Result<void> Nccl::check(int code, std::string_view doing, Comm comm) const {
  if (code == nccl::kSuccess || code == nccl::kInProgress) return {};
  std::string words = error_string(code);
  if (const char* more = last_error(comm); more != nullptr && *more != '\0') words += std::string("; ") + more;
  return failure(nccl_error(code, doing, words));
}

Result<GroupId> Nccl::new_group() const {
  nccl::UniqueId made{};
  if (auto is = check(unique_id(&made), "begin a group"); !is) return failure(is.error());
  std::array<std::uint8_t, GroupId::kBytes> bytes;
  std::memcpy(bytes.data(), made.bytes, bytes.size());
  return GroupId(bytes);
}

Result<std::shared_ptr<const Nccl>> Nccl::open(const std::vector<std::string>& libraries) {
  std::string why;
  for (const std::string& name : libraries) {
    std::string words;
    if (auto library = SharedLibrary::open(name, &words)) return opened_nccl(std::move(*library));
    why += (why.empty() ? "" : "; ") + words;
  }
  return failure(ErrorCode::kDeviceUnavailable, "there is no NCCL here: " + why, kNcclRemedy);
}

Result<std::shared_ptr<const Nccl>> LateNccl::get() {
  const std::lock_guard held(mutex_);
  if (!opened_) opened_ = Nccl::open(libraries_);
  return *opened_;
}

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
