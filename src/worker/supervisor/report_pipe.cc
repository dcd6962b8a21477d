#include "worker/supervisor/report_pipe.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/log.h"
#include "base/network.h"
#include "base/trusted_path.h"

namespace pounce::worker {
namespace {

namespace fs = std::filesystem;

constexpr char kName[] = "pipe", kDefault[] = "/tmp";
constexpr auto kMadeJustNow = std::chrono::minutes(1);

// With the host's: a pipe in a folder that other nodes see too is a pipe on this one only.
std::string beginning_of_names() { return "pounce-report-" + std::to_string(::geteuid()) + "-" + host_name() + "-"; }

void remove_one(const fs::path& folder) {
  ::unlink((folder / kName).c_str());
  ::rmdir(folder.c_str());
}

// Whether the supervisor that made it is gone: a pipe without a reader cannot be opened for writing.
bool is_left(const fs::path& folder) {
  std::error_code gone;
  if (fs::file_time_type::clock::now() - fs::last_write_time(folder, gone) < kMadeJustNow || gone) return false;
  if (!is_own_folder(folder.string())) return false;
  const UniqueFd writer(::open((folder / kName).c_str(), O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  return !writer && (errno == ENXIO || errno == ENOENT);
}

void remove_left(const fs::path& temporary) {
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(temporary, unreadable))
    if (entry.path().filename().string().starts_with(beginning_of_names()) && is_left(entry.path()))
      remove_one(entry.path());
}

}  // namespace

ReportPipe::ReportPipe(const std::string& temporary) {
  std::string folder = (temporary.empty() ? kDefault : temporary) + "/" + beginning_of_names() + "XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) {
    spdlog::warn("nothing can report here: no folder {}: {}", folder, std::strerror(errno));
    return;
  }
  folder_ = folder;
  path_ = folder + "/" + kName;
  if (::mkfifo(path_.c_str(), S_IRUSR | S_IWUSR) == 0)
    fd_.reset(::open(path_.c_str(), O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!fd_) spdlog::warn("nothing can report here: no pipe {}: {}", path_, std::strerror(errno));
}

ReportPipe::~ReportPipe() {
  if (folder_.empty()) return;
  remove_one(folder_);
  remove_left(fs::path(folder_).parent_path());
}

}  // namespace pounce::worker
