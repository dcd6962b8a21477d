#include "saved_state/saved_states.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/file_io.h"
#include "base/trusted_path.h"
#include "saved_state/manifest.h"

namespace pounce::saved_state {
namespace {

constexpr std::size_t kIdLength = 16, kMostDigits = 9;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// The number between `before` and `behind`; nullopt: the name has another form.
std::optional<std::uint64_t> number_in(std::string_view name, std::string_view before, std::string_view behind) {
  if (!name.starts_with(before) || !name.ends_with(behind) || name.size() <= before.size() + behind.size())
    return std::nullopt;
  const std::string_view digits = name.substr(before.size(), name.size() - before.size() - behind.size());
  std::uint64_t number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.size() > kMostDigits || read.ec != std::errc{} || read.ptr != digits.data() + digits.size())
    return std::nullopt;
  return number;
}

}  // namespace

bool is_id(std::string_view name) {
  return name.size() == kIdLength &&
         std::ranges::all_of(name, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::optional<std::uint64_t> epoch_of_manifest(std::string_view name) { return number_in(name, "manifest-", ".json"); }

bool is_owner(std::string_view name) { return number_in(name, "owner-", "").has_value(); }

bool for_each_name(int folder, std::size_t most, const std::function<bool(const std::string&)>& take) {
  // A position of its own, independent of other readers.
  UniqueFd again(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, CloseFolder> entries(again ? ::fdopendir(again.get()) : nullptr);
  if (!entries) return false;
  again.release();
  for (std::size_t seen = 0;;) {
    errno = 0;
    const dirent* entry = ::readdir(entries.get());
    if (entry == nullptr) return errno == 0;
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (seen++ == most || !take(name)) return false;
  }
}

namespace {

tl::unexpected<Error> refused(const std::string& name, const std::string& why) {
  return failure(ErrorCode::kBadRequest, name + " " + why, "Look at it, and remove it if it is not yours.");
}

Result<UniqueFd> opened(int at, const std::string& name, int flags, mode_t kind) {
  const std::string wrong_kind = kind == S_IFDIR ? "is a link, or no folder" : "is a link, or no file";
  UniqueFd file(::openat(at, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags));
  if (!file && (errno == ELOOP || errno == ENOTDIR)) return refused(name, wrong_kind);
  struct stat facts{};
  if (!file || ::fstat(file.get(), &facts) != 0)
    return refused(name, std::string("cannot be opened: ") + std::strerror(errno));
  if ((facts.st_mode & S_IFMT) != kind) return refused(name, wrong_kind);
  if (facts.st_uid != ::geteuid()) return refused(name, "belongs to another user");
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) return refused(name, "may be written by others");
  return file;
}

}  // namespace

Result<UniqueFd> open_own_folder(int at, const std::string& name) { return opened(at, name, O_DIRECTORY, S_IFDIR); }
Result<UniqueFd> open_own_file(int at, const std::string& name) { return opened(at, name, 0, S_IFREG); }

namespace {

constexpr std::size_t kMostFiles = 1'000'000;
constexpr int kTries = 5;  // a manifest may be replaced while we look

std::optional<std::int64_t> written_s(int folder, const std::string& name) {
  struct stat facts{};
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
  const auto newest = newest_s(folder_.get(), [](const std::string& name) {
    return epoch_of_manifest(name) || is_owner(name) || name == kAbout;
  });
  return newest == 0 ? written_s(folder_.get(), ".") : newest;
}

Result<std::optional<std::string>> SavedState::manifest() const {
  for (int i = 1;; ++i) {
    const std::string name = newest_manifest(folder_.get());
    if (name.empty()) return std::nullopt;
    auto text = read(name, kMostManifestBytes);
    if (text || i == kTries || written_s(folder_.get(), name))
      return text.map([](std::string& known) { return std::optional(std::move(known)); });
  }
}

Result<std::string> SavedState::about() const { return read(kAbout, kMostAboutBytes); }

Result<std::string> SavedState::read(const std::string& name, std::size_t most_bytes) const {
  const auto file = open_own_file(folder_.get(), name);
  if (!file) return failure(file.error());
  auto text = read_whole(file->get(), most_bytes);
  if (text) return *std::move(text);
  return failure(ErrorCode::kBadRequest,
                 name + " cannot be read, or is longer than " + std::to_string(most_bytes) + " bytes",
                 "Remove the saved state, and run the cells again.");
}

std::uint64_t SavedState::bytes() const {
  std::uint64_t sum = 0;
  for_each_name(folder_.get(), kMostFiles, [&](const std::string& name) {
    struct stat facts{};
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
  return static_cast<std::size_t>(std::ranges::count_if(
      names, [&](const std::string& name) { return ::unlinkat(folder_.get(), name.c_str(), 0) == 0; }));
}

namespace {

constexpr std::size_t kMostStates = 10'000;
constexpr std::string_view kAside = ".gone-";

template <class Wanted>
std::vector<std::string> names_of(int root, Wanted wanted) {
  std::vector<std::string> names;
  for_each_name(root, kMostStates, [&](const std::string& name) {
    if (wanted(name)) names.push_back(name);
    return true;
  });
  std::ranges::sort(names);
  return names;
}

bool is_aside(const std::string& name) {
  return name.starts_with(kAside) && is_id(std::string_view(name).substr(kAside.size()));
}

}  // namespace

Result<std::optional<SavedStates>> SavedStates::open(const std::string& path) {
  const std::filesystem::path place(path);
  std::error_code hidden;
  if (!std::filesystem::exists(std::filesystem::symlink_status(place, hidden))) return std::nullopt;
  const auto parent = open_trusted_folder(place.parent_path());
  if (!parent)
    return failure(ErrorCode::kBadRequest, parent.error().text,
                   parent.error().remedy.empty() ? "" : parent.error().remedy + ".");
  auto root = open_own_folder(parent->get(), place.filename());
  if (!root) return failure(root.error());
  return SavedStates(std::move(*root));
}

std::vector<std::string> SavedStates::ids() const {
  return names_of(root_.get(), [](const std::string& name) { return is_id(name); });
}

std::vector<std::string> SavedStates::leftovers() const { return names_of(root_.get(), is_aside); }

Result<std::string> SavedStates::put_aside(const std::string& id) const {
  if (const auto fine = state(id); !fine) return failure(fine.error());
  std::string aside = std::string(kAside) + id;
  if (::renameat(root_.get(), id.c_str(), root_.get(), aside.c_str()) == 0) return aside;
  return failure(ErrorCode::kInternal, id + " cannot be removed: " + std::strerror(errno));
}

SavedStates::Left SavedStates::remove_some(const std::string& aside, std::size_t most) const {
  const auto folder = state(aside);
  if (!folder) return Left::kStuck;
  const std::size_t removed = folder->remove_some(most);
  if (::unlinkat(root_.get(), aside.c_str(), AT_REMOVEDIR) == 0) return Left::kNothing;
  return removed > 0 ? Left::kMore : Left::kStuck;
}

}  // namespace pounce::saved_state
