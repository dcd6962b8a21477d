#include "device/host_group.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/unique_fd.h"

namespace pounce::device {
namespace {

std::size_t size_for(std::uint32_t ranks) { return sizeof(HostMeeting::Shared) + ranks * sizeof(HostMeeting::Seat); }

std::string path_of(const GroupId& id) { return "/dev/shm/pounce-group-" + id.hex().substr(0, 32); }

Error cannot_meet(const std::string& why) {
  return {ErrorCode::kDeviceFailed,
          "the ranks of this group cannot meet in this machine's memory: " + why,
          "Host devices need /dev/shm; a group of GPUs does not.",
          {}};
}

}  // namespace

Result<std::unique_ptr<HostMeeting>> HostMeeting::open(const GroupId& id, std::uint32_t ranks) {
  if (ranks > kMostRanks)
    return failure(ErrorCode::kBadRequest,
                   "a group of host devices has at most " + std::to_string(kMostRanks) + " ranks");
  const std::string path = path_of(id);
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat facts{};
  if (!file || ::fstat(file.get(), &facts) != 0) return failure(cannot_meet(std::strerror(errno)));
  if (facts.st_uid != ::geteuid()) return failure(cannot_meet(path + " is another user's"));
  if (::ftruncate(file.get(), static_cast<off_t>(size_for(ranks))) != 0)
    return failure(cannot_meet(std::strerror(errno)));
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

namespace {

class HostGroup final : public Group {
 public:
  HostGroup(std::unique_ptr<HostMeeting> meeting, Rank rank) : meeting_(std::move(meeting)), rank_(rank) {}
  ~HostGroup() override { abort(); }

  Result<void> join() {
    std::uint64_t no_step = 0;
    if (!seat(rank_).came.compare_exchange_strong(no_step, ++step_)) {
      left_ = true;  // the seat is another process's: leave it alone
      meeting_->is_anothers();
      return failure(ErrorCode::kBadRequest, "rank " + std::to_string(rank_.value) + " is there twice");
    }
    return {};
  }

  Result<void> broadcast(std::byte* memory, std::size_t size, Rank from) override {
    memory_ = memory, size_ = size, moved_ = 0, from_ = from;
    begin(size);
    return {};
  }

  Result<void> leave() override {
    leaving_ = true;
    begin(0);
    return {};
  }

  // Moves as much as the other ranks allow; it never blocks.
  Result<bool> is_done() override {
    HostMeeting::Shared& shared = meeting_->shared();
    if (shared.broken) return failure(ErrorCode::kLost, "another rank gave up");
    if (from_ && seat(*from_).came < step_) return false;
    if (from_ && seat(*from_).size != size_)
      return failure(ErrorCode::kBadRequest, "this rank has room for " + std::to_string(size_) + " bytes, " +
                                                 std::to_string(seat(*from_).size) + " are sent");
    while (from_ && moved_ < size_)
      if (!(rank_ == *from_ ? send() : take())) return false;
    from_.reset();
    seat(rank_).done = step_;
    if (!std::ranges::all_of(meeting_->seats(), [this](const auto& one) { return one.done >= step_; })) return false;
    if (step_ == 1) meeting_->all_are_here();
    left_ = leaving_;
    return true;
  }

  void abort() override {
    if (!left_) meeting_->shared().broken = 1;
    left_ = true;
  }

 private:
  HostMeeting::Seat& seat(Rank rank) const { return meeting_->seats()[rank.value]; }

  void begin(std::size_t size) {
    seat(rank_).size = size;
    seat(rank_).came = ++step_;
  }

  std::size_t next_piece() const { return std::min(HostMeeting::kPieceBytes, size_ - moved_); }

  // Sends the next piece, once all others have the one before it. False: not yet.
  bool send() {
    HostMeeting::Shared& shared = meeting_->shared();
    for (const auto& one : meeting_->seats())
      if (&one != &seat(rank_) && one.taken < shared.sent) return false;
    const std::size_t piece = next_piece();
    std::memcpy(shared.piece, memory_ + moved_, piece);
    moved_ += piece;
    seat(rank_).taken += piece;  // the next sender counts it too
    shared.sent += piece;
    return true;
  }

  bool take() {
    HostMeeting::Shared& shared = meeting_->shared();
    if (shared.sent == seat(rank_).taken) return false;
    const std::size_t piece = next_piece();
    std::memcpy(memory_ + moved_, shared.piece, piece);
    moved_ += piece;
    seat(rank_).taken += piece;
    return true;
  }

  std::unique_ptr<HostMeeting> meeting_;
  const Rank rank_;
  std::uint64_t step_ = 0;
  std::byte* memory_ = nullptr;
  std::size_t size_ = 0, moved_ = 0;
  std::optional<Rank> from_;  // the source of the current broadcast
  bool leaving_ = false, left_ = false;
};

}  // namespace

Result<std::unique_ptr<Group>> host_group(const GroupId& id, Rank rank, std::uint32_t ranks) {
  auto meeting = HostMeeting::open(id, ranks);
  if (!meeting) return failure(meeting.error());
  auto group = std::make_unique<HostGroup>(std::move(*meeting), rank);
  if (auto joined = group->join(); !joined) return failure(joined.error());
  return group;
}

}  // namespace pounce::device
