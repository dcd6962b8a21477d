#include "base/write_probe.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/unique_fd.h"
#include "base/write_all.h"

namespace pounce {

WriteProbe probe_writing(const std::filesystem::path& folder) {
  std::string name = (folder / ".pounce-probe-XXXXXX").string();
  const UniqueFd file(::mkstemp(name.data()));
  if (!file) return {std::strerror(errno)};
  const std::string page(4096, '\0');  // fewer bytes may still fit on a full disk
  // A quota and a network file system report errors only at fsync.
  const bool written = write_all(file.get(), page) && ::fsync(file.get()) == 0;
  const std::string trouble = written ? "" : std::strerror(errno);
  struct stat facts {};
  ::fstat(file.get(), &facts);
  ::unlink(name.c_str());
  return {trouble, static_cast<double>(facts.st_mtim.tv_sec)};
}

std::filesystem::path nearest_existing(std::filesystem::path folder) {
  std::error_code absent;
  while (!std::filesystem::exists(folder, absent) && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

}  // namespace pounce
