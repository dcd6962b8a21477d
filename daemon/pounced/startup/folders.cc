// Where this user's files are: the home, the base of all state folders, the instance's two folders.

#include "pounced/startup/folders.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/file_io.h"
#include "base/trusted_path.h"
#include "base/unique_fd.h"

namespace pounce::daemon {
namespace {

constexpr char kBelowHome[] = "/.local/state/pounce";

std::string registered_home() {
  const passwd* entry = ::getpwuid(::geteuid());
  return entry != nullptr ? entry->pw_dir : "/";
}

}  // namespace

std::string home_folder() {
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? home : registered_home();
}

std::string default_state_folder() { return home_folder() + kBelowHome; }
std::string usual_state_folder() { return registered_home() + kBelowHome; }

std::string why_not_usable(const std::string& folder) {
  const std::filesystem::path there = nearest_existing(folder);
  if (const auto trusted = open_trusted_folder(there); !trusted) return trusted.error().text;
  const WriteProbe probe = probe_writing(there);
  return probe.trouble.empty() ? "" : there.string() + " cannot be written: " + probe.trouble;
}

std::string fallback_state_folder() { return own_name_in("/var/tmp", "pounce-" + std::to_string(::geteuid())); }

StateBase choose_state_base(const std::string& usual, const std::string& fallback,
                            const std::function<bool(const std::string& base)>& lives) {
  if (lives(usual)) return {usual, {}};
  const std::string trouble = why_not_usable(usual);
  if (lives(fallback)) return {fallback, trouble.empty() ? usual + " could not be written a while ago" : trouble};
  if (trouble.empty() || !why_not_usable(fallback).empty()) return {usual, {}};
  return {fallback, trouble};
}

namespace {

// An ipc socket's path has 107 bytes at most; "/<12 digits>/handshake" must fit behind this, with some room.
constexpr std::size_t kLongestRuntimeBase = 80;

tl::unexpected<Error> trouble(const std::string& path, const std::string& what) {
  return failure(ErrorCode::kDaemonUnavailable, path + " " + what, "Remove it, or name another state_folder.");
}

tl::unexpected<Error> distrusted(const Error& error) {
  std::string remedy = error.remedy.empty() ? "Remove it" : error.remedy;
  return failure(error.code, error.text, remedy.append(", or name another state_folder."));
}

// XDG_RUNTIME_DIR of another user (after su) or of a session that is gone does not count.
std::string runtime_base() {
  const char* xdg = std::getenv("XDG_RUNTIME_DIR");
  if (xdg != nullptr && *xdg == '/' && std::strlen(xdg) <= kLongestRuntimeBase && is_own_folder(xdg))
    return std::string(xdg) + "/pounce";
  return own_name_in("/tmp", "pounce-" + std::to_string(::geteuid()));
}

}  // namespace

Folders name_folders(const std::string& state_base, const std::string& cluster, const InstanceId& instance) {
  return {state_base + "/" + cluster + "/" + instance.hex(), runtime_base() + "/" + instance.hex()};
}

Result<void> make_private_folder(const std::string& path) {
  const std::filesystem::path place(path);
  struct stat facts{};
  if (::stat(place.parent_path().c_str(), &facts) != 0 && place.parent_path() != place)
    if (const auto made = make_private_folder(place.parent_path()); !made) return made;
  const auto parent = open_trusted_folder(place.parent_path());
  if (!parent) return distrusted(parent.error());
  const std::string name = place.filename();
  if (::mkdirat(parent->get(), name.c_str(), 0700) != 0 && errno != EEXIST)
    return trouble(path, std::string("cannot be made: ") + std::strerror(errno));
  const UniqueFd folder(::openat(parent->get(), name.c_str(), O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_RDONLY));
  if (!folder || ::fstat(folder.get(), &facts) != 0) return trouble(path, "is not a folder");
  if (facts.st_uid != ::geteuid()) return trouble(path, "belongs to somebody else");
  if ((facts.st_mode & 07777) != 0700 && ::fchmod(folder.get(), 0700) != 0)
    return trouble(path, "cannot be closed to others");
  return {};
}

Result<void> make_folders(const Folders& folders) {
  // The runtime folder's parent may lie in /tmp: it must be ours too, or its owner could swap what is inside.
  for (const std::string& path : {folders.state, folders.leases(), folders.results(), folders.checkpoints(),
                                  std::filesystem::path(folders.runtime).parent_path().string(), folders.runtime})
    if (const auto made = make_private_folder(path); !made) return made;
  return {};
}

}  // namespace pounce::daemon
