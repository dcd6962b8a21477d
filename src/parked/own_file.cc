#include "parked/own_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace pounce::parked {
namespace {

tl::unexpected<Error> refused(const std::string& name, const std::string& why) {
  return failure(ErrorCode::kBadRequest, name + " " + why, "Look at it, and remove it if it is not yours.");
}

Result<UniqueFd> opened(int at, const std::string& name, int flags, mode_t kind) {
  const std::string wrong_kind = kind == S_IFDIR ? "is a link, or no folder" : "is a link, or no file";
  UniqueFd file(::openat(at, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags));
  if (!file && (errno == ELOOP || errno == ENOTDIR)) return refused(name, wrong_kind);
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0) return refused(name, std::string("cannot be opened: ") + std::strerror(errno));
  if ((facts.st_mode & S_IFMT) != kind) return refused(name, wrong_kind);
  if (facts.st_uid != ::geteuid()) return refused(name, "belongs to another user");
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) return refused(name, "may be written by others");
  return file;
}

}  // namespace

Result<UniqueFd> open_own_folder(int at, const std::string& name) { return opened(at, name, O_DIRECTORY, S_IFDIR); }
Result<UniqueFd> open_own_file(int at, const std::string& name) { return opened(at, name, 0, S_IFREG); }

}  // namespace pounce::parked
