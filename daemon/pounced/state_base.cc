#include "pounced/state_base.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/unique_fd.h"
#include "pounced/file.h"

namespace pounce::daemon {
namespace {

constexpr std::size_t kProbe = 4096;  // a page: less may still fit where the disk is full

std::filesystem::path existing(std::filesystem::path folder) {
  std::error_code error;
  while (folder.has_relative_path() && !std::filesystem::exists(folder, error)) folder = folder.parent_path();
  return folder;
}

}  // namespace

std::string why_not_writable(const std::string& folder) {
  const std::filesystem::path there = existing(folder);
  const std::string probe = there / (".pounce-probe-" + std::to_string(::getpid()));
  const UniqueFd fd(::open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  // A quota, and a network file system, tell only at fsync.
  const bool written = fd && write_all(fd.get(), std::string(kProbe, '\0')) && ::fsync(fd.get()) == 0;
  const std::string why = written ? "" : there.string() + " cannot be written: " + std::strerror(errno);
  if (fd) ::unlink(probe.c_str());
  return why;
}

std::string fallback_state_folder() { return "/var/tmp/pounce-" + std::to_string(::geteuid()); }

StateBase choose_state_base(const std::string& usual, const std::string& fallback,
                            const std::function<bool(const std::string& base)>& lives) {
  if (lives(usual)) return {usual, {}};
  const std::string trouble = why_not_writable(usual);
  if (lives(fallback)) return {fallback, trouble.empty() ? usual + " could not be written a while ago" : trouble};
  if (trouble.empty() || !why_not_writable(fallback).empty()) return {usual, {}};
  return {fallback, trouble};
}

}  // namespace pounce::daemon
