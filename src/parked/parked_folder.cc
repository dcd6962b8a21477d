#include "parked/parked_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/trusted_path.h"
#include "parked/names.h"
#include "parked/own_file.h"

namespace pounce::parked {
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

Result<std::optional<ParkedFolder>> ParkedFolder::open(const std::string& path) {
  const std::filesystem::path place(path);
  std::error_code hidden;
  if (!std::filesystem::exists(std::filesystem::symlink_status(place, hidden))) return std::nullopt;
  const auto parent = open_trusted_folder(place.parent_path());
  if (!parent) return failure(ErrorCode::kBadRequest, parent.error().text, parent.error().remedy.empty() ? "" : parent.error().remedy + ".");
  auto root = open_own_folder(parent->get(), place.filename());
  if (!root) return failure(root.error());
  return ParkedFolder(std::move(*root));
}

std::vector<std::string> ParkedFolder::ids() const {
  return names_of(root_.get(), [](const std::string& name) { return is_id(name); });
}

std::vector<std::string> ParkedFolder::leftovers() const { return names_of(root_.get(), is_aside); }

Result<std::string> ParkedFolder::put_aside(const std::string& id) const {
  if (const auto fine = state(id); !fine) return failure(fine.error());
  std::string aside = std::string(kAside) + id;
  if (::renameat(root_.get(), id.c_str(), root_.get(), aside.c_str()) == 0) return aside;
  return failure(ErrorCode::kInternal, id + " cannot be removed: " + std::strerror(errno));
}

ParkedFolder::Left ParkedFolder::remove_some(const std::string& aside, std::size_t most) const {
  const auto folder = state(aside);
  if (!folder) return Left::kStuck;
  const std::size_t removed = folder->remove_some(most);
  if (::unlinkat(root_.get(), aside.c_str(), AT_REMOVEDIR) == 0) return Left::kNothing;
  return removed > 0 ? Left::kMore : Left::kStuck;
}

}  // namespace pounce::parked
