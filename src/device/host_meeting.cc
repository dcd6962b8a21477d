#include "device/host_meeting.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "base/unique_fd.h"

namespace pounce::device {
namespace {

std::size_t size_for(std::uint32_t ranks) { return sizeof(HostMeeting::Shared) + ranks * sizeof(HostMeeting::Seat); }

std::string path_of(const GroupId& id) { return "/dev/shm/pounce-group-" + id.hex().substr(0, 32); }

Error cannot_meet(const std::string& why) {
  return {ErrorCode::kDeviceFailed, "the ranks of this group cannot meet in this machine's memory: " + why,
          "Host devices need /dev/shm; a group of GPUs does not.", {}};
}

}  // namespace

Result<std::unique_ptr<HostMeeting>> HostMeeting::open(const GroupId& id, std::uint32_t ranks) {
  if (ranks > kMostRanks) return failure(ErrorCode::kBadRequest, "a group of host devices has at most " + std::to_string(kMostRanks) + " ranks");
  const std::string path = path_of(id);
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat facts{};
  if (!file || ::fstat(file.get(), &facts) != 0) return failure(cannot_meet(std::strerror(errno)));
  if (facts.st_uid != ::geteuid()) return failure(cannot_meet(path + " is another user's"));
  if (::ftruncate(file.get(), static_cast<off_t>(size_for(ranks))) != 0) return failure(cannot_meet(std::strerror(errno)));
  void* mapped = ::mmap(nullptr, size_for(ranks), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) return failure(cannot_meet(std::strerror(errno)));
  return std::unique_ptr<HostMeeting>(new HostMeeting(path, static_cast<Shared*>(mapped), ranks));
}

HostMeeting::~HostMeeting() {
  all_are_here();
  ::munmap(shared_, size_for(ranks_));
}

void HostMeeting::all_are_here() {
  if (!path_.empty()) ::unlink(path_.c_str());
  path_.clear();
}

}  // namespace pounce::device
