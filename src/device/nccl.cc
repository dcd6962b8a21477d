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

}  // namespace pounce::device
