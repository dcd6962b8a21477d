#include "parked/names.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>

#include "base/unique_fd.h"

namespace pounce::parked {
namespace {

constexpr std::size_t kIdLength = 16, kMostDigits = 9;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// The number between `before` and `behind`; nullopt: the name has another form.
std::optional<std::uint64_t> number_in(std::string_view name, std::string_view before, std::string_view behind) {
  if (!name.starts_with(before) || !name.ends_with(behind) || name.size() <= before.size() + behind.size()) return std::nullopt;
  const std::string_view digits = name.substr(before.size(), name.size() - before.size() - behind.size());
  std::uint64_t number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.size() > kMostDigits || read.ec != std::errc{} || read.ptr != digits.data() + digits.size()) return std::nullopt;
  return number;
}

}  // namespace

bool is_id(std::string_view name) {
  return name.size() == kIdLength && std::ranges::all_of(name, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
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

}  // namespace pounce::parked
