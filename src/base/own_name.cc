#include "base/own_name.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <set>

#include "base/random_id.h"
#include "pounce/ids.h"

namespace pounce {
namespace {

bool is_free(const std::string& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) != 0 && errno == ENOENT;
}

std::set<std::string> ours_like(const std::string& shared, const std::string& start) {
  std::set<std::string> found;
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator(shared, unreadable))
    if (entry.path().filename().string().starts_with(start) && is_own_folder(entry.path()))
      found.insert(entry.path());
  return found;
}

}  // namespace

bool is_own_folder(const std::string& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == ::geteuid();
}

std::string own_name_in(const std::string& shared, const std::string& name) {
  const std::string usual = shared + "/" + name;
  if (is_free(usual) || is_own_folder(usual)) return usual;
  const auto ours = ours_like(shared, name + "-");
  static const std::string unguessable = random_id<InstanceId>().hex();
  return ours.empty() ? usual + "-" + unguessable : *ours.begin();
}

}  // namespace pounce
