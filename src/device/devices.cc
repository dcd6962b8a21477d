#include "device/devices.h"

#include <charconv>
#include <set>
#include <utility>

namespace pounce::device {
namespace {

constexpr std::string_view kHost = "host", kCuda = "cuda";

std::optional<std::uint32_t> number_of(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

Result<DeviceName> DeviceName::parse(std::string_view word) {
  const std::size_t colon = word.find(':');
  const std::string_view kind = word.substr(0, colon);
  const auto number =
      colon == std::string_view::npos ? std::optional(std::uint32_t{0}) : number_of(word.substr(colon + 1));
  if (number && kind == kCuda) return DeviceName{Kind::kCuda, Ordinal{*number}};
  if (number && kind == kHost) return DeviceName{Kind::kHost, Ordinal{*number}};
  return failure(ErrorCode::kBadRequest, "there is no device \"" + std::string(word) + "\"",
                 "Devices are \"cuda\", \"cuda:1\" for a worker's second GPU, and \"host\".");
}

std::string DeviceName::text() const {
  return std::string(kind == Kind::kCuda ? kCuda : kHost) + ":" + std::to_string(which.value);
}

CudaLibraries cuda_libraries(const std::vector<std::string>& package_folders) {
  CudaLibraries libraries;
  for (const std::string& folder : package_folders) {
    libraries.runtime.push_back(folder + "/nvidia/cu13/lib/libcudart.so.13");
    libraries.runtime.push_back(folder + "/nvidia/cuda_runtime/lib/libcudart.so.12");
    libraries.nccl.push_back(folder + "/nvidia/nccl/lib/libnccl.so.2");
  }
  return libraries;
}

Devices::Devices(const std::vector<std::string>& package_folders, std::string leased)
    : libraries_(cuda_libraries(package_folders)), leased_(std::move(leased)) {}

Error advised(Error error, const std::string& leased) {
  if (error.code != ErrorCode::kDeviceUnavailable || !error.remedy.empty() || leased.empty()) return error;
  error.text += ", and the lease has " + leased;
  error.remedy = leased.starts_with("GPU")
                     ? "Show the admin this node, unless the code changes CUDA_VISIBLE_DEVICES."
                     : "Use a worker with a real GPU: the local launcher's stand-ins have no CUDA.";
  return error;
}

Result<Backend*> Devices::backend(DeviceName::Kind kind) {
  std::unique_ptr<Backend>& known = backends_[kind];
  if (known != nullptr) return known.get();
  if (kind == DeviceName::Kind::kHost) {
    known = host_backend();
  } else {
    auto cuda = cuda_backend(libraries_);
    if (!cuda) return failure(advised(cuda.error(), leased_));
    known = std::move(*cuda);
  }
  return known.get();
}

Result<std::shared_ptr<Device>> Devices::open(const DeviceName& name) {
  const std::lock_guard held(mutex_);
  std::shared_ptr<Device>& known = opened_[name];
  if (known != nullptr) return known;
  auto kind = backend(name.kind);
  if (!kind) return failure(kind.error());
  auto opened = Device::open(**kind, name.which);
  if (!opened) return failure(advised(opened.error(), leased_));
  return known = *opened;
}

Result<GroupId> Devices::new_group(DeviceName::Kind kind) {
  const std::lock_guard held(mutex_);
  return backend(kind).and_then([](Backend* known) { return known->new_group(); });
}

Result<std::vector<DeviceFacts>> Devices::visible(DeviceName::Kind kind) {
  const std::lock_guard held(mutex_);
  return backend(kind).and_then([](Backend* known) { return known->devices(); });
}

std::map<DeviceName, MemoryUse> Devices::use() const {
  const std::lock_guard held(mutex_);
  std::map<DeviceName, MemoryUse> all;
  for (const auto& [name, device] : opened_)
    if (device != nullptr) all[name] = device->use();
  return all;
}

namespace {

// CUDA reports the 16 bytes only (gotchas G3).
std::string bare_uuid(const std::string& uuid) {
  std::string bare = uuid.starts_with("GPU-") || uuid.starts_with("MIG-") ? uuid.substr(4) : uuid;
  for (char& letter : bare)
    if (letter >= 'A' && letter <= 'F') letter = static_cast<char>(letter - 'A' + 'a');
  return bare;
}

// The members of `some` that are not among `others`, as they were named.
std::string without(const std::vector<std::string>& some, const std::vector<std::string>& others) {
  std::set<std::string> known;
  for (const std::string& uuid : others) known.insert(bare_uuid(uuid));
  std::string words;
  for (const std::string& uuid : some)
    if (!known.contains(bare_uuid(uuid))) words += (words.empty() ? "" : ", ") + uuid;
  return words;
}

}  // namespace

Result<void> only_leased(const std::vector<std::string>& visible, const std::vector<std::string>& leased) {
  const std::string foreign = without(visible, leased), absent = without(leased, visible);
  if (foreign.empty() && absent.empty()) return {};
  std::string text = "the GPUs that this worker sees are not those of its lease:";
  if (!foreign.empty()) text += " " + foreign + (absent.empty() ? " is not in it" : " is not in it,");
  if (!absent.empty()) text += " " + absent + " is not seen";
  Error error{ErrorCode::kDeviceUnavailable,
              text,
              "Submit again, and show the admin this node: its devices are not kept apart.",
              {}};
  if (!foreign.empty()) error.context["foreign"] = foreign;
  if (!absent.empty()) error.context["absent"] = absent;
  return failure(error);
}

Result<void> one_rank_each(const std::vector<std::string>& of_ranks) {
  std::map<std::string, std::size_t> first;
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    const auto [at, fresh] = first.emplace(bare_uuid(of_ranks[rank]), rank);
    if (!fresh)
      return failure(ErrorCode::kBadRequest,
                     "ranks " + std::to_string(at->second) + " and " + std::to_string(rank) +
                         " would use one device, " + of_ranks[rank],
                     "Ask for a GPU for each worker: gpus=1.");
  }
  return {};
}

}  // namespace pounce::device
