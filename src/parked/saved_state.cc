#include "parked/saved_state.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/bounded_file.h"
#include "parked/manifest.h"
#include "parked/names.h"
#include "parked/own_file.h"

namespace pounce::parked {
namespace {

constexpr std::size_t kMostFiles = 1'000'000;
constexpr int kTries = 5;  // a manifest may be replaced while we look

std::optional<std::int64_t> written_s(int folder, const std::string& name) {
  struct stat facts {};
  if (::fstatat(folder, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return std::max<std::int64_t>(facts.st_mtim.tv_sec, 0);
}

// The time of the newest file that counts; 0 if there is none.
std::optional<std::int64_t> newest_s(int folder, bool (*counts)(const std::string&)) {
  std::int64_t newest = 0;
  const bool all = for_each_name(folder, kMostFiles, [&](const std::string& name) {
    if (counts(name)) newest = std::max(newest, written_s(folder, name).value_or(0));
    return true;
  });
  return all ? std::optional(newest) : std::nullopt;
}

// Empty: there is no manifest.
std::string newest_manifest(int folder) {
  std::optional<std::uint64_t> newest;
  std::string found;
  for_each_name(folder, kMostFiles, [&](const std::string& name) {
    const auto epoch = epoch_of_manifest(name);
    if (epoch && (!newest || *epoch > *newest)) newest = epoch, found = name;
    return true;
  });
  return found;
}

}  // namespace

Result<SavedState> SavedState::open(int root, const std::string& name) {
  auto folder = open_own_folder(root, name);
  if (!folder) return failure(folder.error());
  return SavedState(std::move(*folder));
}

std::optional<std::int64_t> SavedState::saved_s() const {
  return newest_s(folder_.get(), [](const std::string& name) { return epoch_of_manifest(name).has_value(); });
}

std::optional<std::int64_t> SavedState::used_s() const {
  const auto newest =
      newest_s(folder_.get(), [](const std::string& name) { return epoch_of_manifest(name) || is_owner(name) || name == kAbout; });
  return newest == 0 ? written_s(folder_.get(), ".") : newest;
}

Result<std::optional<std::string>> SavedState::manifest() const {
  for (int i = 1;; ++i) {
    const std::string name = newest_manifest(folder_.get());
    if (name.empty()) return std::nullopt;
    auto text = read(name, kMostManifestBytes);
    if (text || i == kTries || written_s(folder_.get(), name)) return text.map([](std::string& known) { return std::optional(std::move(known)); });
  }
}

Result<std::string> SavedState::about() const { return read(kAbout, kMostAboutBytes); }

Result<std::string> SavedState::read(const std::string& name, std::size_t most_bytes) const {
  const auto file = open_own_file(folder_.get(), name);
  if (!file) return failure(file.error());
  auto text = read_whole(file->get(), most_bytes);
  if (text) return *std::move(text);
  return failure(ErrorCode::kBadRequest, name + " cannot be read, or is longer than " + std::to_string(most_bytes) + " bytes",
                 "Remove the saved state, and run the cells again.");
}

std::uint64_t SavedState::bytes() const {
  std::uint64_t sum = 0;
  for_each_name(folder_.get(), kMostFiles, [&](const std::string& name) {
    struct stat facts {};
    if (::fstatat(folder_.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(facts.st_mode))
      sum += static_cast<std::uint64_t>(facts.st_size);
    return true;
  });
  return sum;
}

std::size_t SavedState::remove_some(std::size_t most) const {
  std::vector<std::string> names;
  for_each_name(folder_.get(), most, [&](const std::string& name) {
    names.push_back(name);
    return true;
  });
  return static_cast<std::size_t>(
      std::ranges::count_if(names, [&](const std::string& name) { return ::unlinkat(folder_.get(), name.c_str(), 0) == 0; }));
}

}  // namespace pounce::parked
