#include "base/trusted_path.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <deque>
#include <filesystem>
#include <set>

#include "base/file_io.h"
#include "base/random_id.h"
#include "model/ids.h"

namespace pounce {
namespace {

bool is_free(const std::string& path) {
  struct stat facts{};
  return ::lstat(path.c_str(), &facts) != 0 && errno == ENOENT;
}

std::set<std::string> ours_like(const std::string& shared, const std::string& start) {
  std::set<std::string> found;
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator(shared, unreadable))
    if (entry.path().filename().string().starts_with(start) && is_own_folder(entry.path())) found.insert(entry.path());
  return found;
}

}  // namespace

bool is_own_folder(const std::string& path) {
  struct stat facts{};
  return ::lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == ::geteuid();
}

std::string own_name_in(const std::string& shared, const std::string& name) {
  const std::string usual = shared + "/" + name;
  if (is_free(usual) || is_own_folder(usual)) return usual;
  const auto ours = ours_like(shared, name + "-");
  static const std::string unguessable = random_id<InstanceId>().hex();
  return ours.empty() ? usual + "-" + unguessable : *ours.begin();
}

namespace {

constexpr int kMostLinks = 40;  // as many as the kernel follows
constexpr char kOwnFile[] = "Name a file that you can read, your own or root's, in folders that nobody else may write";

tl::unexpected<Error> distrust(const std::string& component, const std::string& why, std::string remedy = {}) {
  return failure(ErrorCode::kDaemonUnavailable, component + " " + why, std::move(remedy));
}

// Debian and others give each user a private group, and a umask that lets it write.
bool is_own_group(gid_t group) {
  const passwd* user = ::getpwuid(::geteuid());
  const struct group* entry = user == nullptr ? nullptr : ::getgrgid(group);
  if (entry == nullptr || std::strcmp(entry->gr_name, user->pw_name) != 0) return false;
  for (char** member = entry->gr_mem; *member != nullptr; ++member)
    if (std::strcmp(*member, user->pw_name) != 0) return false;
  return true;
}

bool others_may_write(const struct stat& facts) {
  return (facts.st_mode & S_IWOTH) != 0 || ((facts.st_mode & S_IWGRP) != 0 && !is_own_group(facts.st_gid));
}

Result<void> trusted(const std::string& component, const struct stat& facts) {
  if (facts.st_uid != 0 && facts.st_uid != ::geteuid())
    return distrust(component, "belongs to another user (uid " + std::to_string(facts.st_uid) + ")");
  const bool sticky_folder = S_ISDIR(facts.st_mode) && (facts.st_mode & S_ISVTX) != 0;
  if (!S_ISLNK(facts.st_mode) && !sticky_folder && others_may_write(facts))
    return distrust(component, "can be written by others", "Take that right from them: chmod go-w " + component);
  return {};
}

UniqueFd root() { return UniqueFd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)); }

// The last component reached, opened without access (O_PATH), and the rest of the path.
class Walk {
 public:
  explicit Walk(const std::string& path) : here_(root()) {
    append(path);
    // Access the whole path first to trigger automounts: O_PATH alone does not.
    ::access(path.c_str(), F_OK);
  }

  Result<UniqueFd> finish() {
    while (!ahead_.empty())
      if (const auto stepped = step(); !stepped) return failure(stepped.error());
    return std::move(here_);
  }

 private:
  void append(const std::filesystem::path& path) {
    std::deque<std::string> parts;
    for (const auto& part : path.relative_path())
      if (!part.empty() && part != ".") parts.push_back(part.string());
    ahead_.insert(ahead_.begin(), parts.begin(), parts.end());
  }

  Result<void> step() {
    const std::string part = std::move(ahead_.front());
    ahead_.pop_front();
    const std::string component = where_ + "/" + part;
    UniqueFd next(::openat(here_.get(), part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat facts{};
    if (!next || ::fstat(next.get(), &facts) != 0) return distrust(component, std::strerror(errno));
    if (const auto fine = trusted(component, facts); !fine) return fine;
    if (S_ISLNK(facts.st_mode)) return follow(component, next);
    where_ = component;
    here_ = std::move(next);
    return {};
  }

  Result<void> follow(const std::string& component, const UniqueFd& link) {
    char target[PATH_MAX];
    const ssize_t length = ::readlinkat(link.get(), "", target, sizeof target);
    if (length <= 0 || length == sizeof target || ++links_ > kMostLinks)
      return distrust(component, "is a link to nowhere");
    const std::filesystem::path path(std::string(target, static_cast<std::size_t>(length)));
    if (path.is_absolute()) {
      here_ = root();
      where_.clear();
    }
    append(path);
    return {};
  }

  UniqueFd here_;
  std::string where_;
  std::deque<std::string> ahead_;
  int links_ = 0;
};

// The same file or folder, reopened for reading.
UniqueFd reopened(const UniqueFd& place, int flags) {
  return UniqueFd(::open(("/proc/self/fd/" + std::to_string(place.get())).c_str(), flags | O_CLOEXEC));
}

}  // namespace

Result<UniqueFd> open_trusted_folder(const std::string& path) {
  auto place = Walk(path).finish();
  if (!place) return place;
  UniqueFd folder = reopened(*place, O_RDONLY | O_DIRECTORY);
  if (!folder) return distrust(path, std::strerror(errno));
  return folder;
}

Result<std::string> read_trusted_file(const std::string& path, std::size_t most_bytes) {
  auto place = Walk(path).finish();
  if (!place) {
    if (place.error().remedy.empty()) place.error().remedy = kOwnFile;
    return failure(place.error());
  }
  struct stat facts{};
  if (::fstat(place->get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return distrust(path, "is no file", kOwnFile);
  const UniqueFd file = reopened(*place, O_RDONLY);
  if (!file) return distrust(path, std::strerror(errno), kOwnFile);
  auto text = read_whole(file.get(), most_bytes);
  if (!text)
    return distrust(path, "cannot be read, or is longer than " + std::to_string(most_bytes) + " bytes", kOwnFile);
  return *std::move(text);
}

}  // namespace pounce
