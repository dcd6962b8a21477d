#include "device/host_group.h"

#include <cstring>
#include <optional>
#include <set>

namespace pounce::device {

// Its lock is held during no copy: what is copied from stays until all have it, since its rank is not done before.
class HostMeeting {
 public:
  struct Sent {
    std::byte* memory = nullptr;
    std::size_t size = 0;
  };
  struct Step {
    std::set<Rank> came, done;
    std::optional<Sent> sent;
  };

  Result<void> come(std::uint64_t step, Rank rank, std::optional<Sent> sent) {
    const std::lock_guard held(mutex_);
    Step& at = steps_[step];
    if (!at.came.insert(rank).second)
      return failure(ErrorCode::kBadRequest, "rank " + std::to_string(rank.value) + " is there twice");
    if (sent) at.sent = sent;
    steps_.erase(steps_.begin(), steps_.lower_bound(step - 1));  // somebody may still look at the last one
    return {};
  }

  Result<Step> look(std::uint64_t step) {
    const std::lock_guard held(mutex_);
    if (broken_) return failure(ErrorCode::kLost, "another rank gave up");
    return steps_[step];
  }

  std::size_t have_it(std::uint64_t step, Rank rank) {
    const std::lock_guard held(mutex_);
    steps_[step].done.insert(rank);
    return steps_[step].done.size();
  }

  void break_up() {
    const std::lock_guard held(mutex_);
    broken_ = true;
  }

 private:
  std::mutex mutex_;  // guards both
  std::map<std::uint64_t, Step> steps_;
  bool broken_ = false;
};

namespace {

class HostGroup final : public Group {
 public:
  HostGroup(std::shared_ptr<HostMeeting> meeting, Rank rank, std::uint32_t ranks)
      : meeting_(std::move(meeting)), rank_(rank), ranks_(ranks) {}
  ~HostGroup() override { abort(); }

  Result<void> join() {
    auto joined = meeting_->come(++step_, rank_, {});
    left_ = !joined;  // the one that was there before is none of ours
    return joined;
  }

  Result<void> broadcast(std::byte* memory, std::size_t size, Rank from) override {
    memory_ = memory, size_ = size, receives_ = from != rank_;
    return meeting_->come(++step_, rank_, receives_ ? std::nullopt : std::optional(HostMeeting::Sent{memory, size}));
  }

  Result<void> leave() override {
    leaving_ = true;
    return meeting_->come(++step_, rank_, {});
  }

  Result<bool> is_done() override {
    const auto step = meeting_->look(step_);
    if (!step) return failure(step.error());
    if (receives_ && !step->sent) return false;
    if (receives_ && step->sent->size != size_)
      return failure(ErrorCode::kBadRequest, "this rank has room for " + std::to_string(size_) + " bytes, " +
                                                 std::to_string(step->sent->size) + " are sent");
    if (receives_ && size_ > 0) std::memcpy(memory_, step->sent->memory, size_);
    receives_ = false;
    if (meeting_->have_it(step_, rank_) < ranks_) return false;
    left_ = leaving_;
    return true;
  }

  void abort() override {
    if (!left_) meeting_->break_up();
    left_ = true;
  }

 private:
  std::shared_ptr<HostMeeting> meeting_;
  const Rank rank_;
  const std::uint32_t ranks_;
  std::uint64_t step_ = 0;
  std::byte* memory_ = nullptr;
  std::size_t size_ = 0;
  bool receives_ = false, leaving_ = false, left_ = false;
};

}  // namespace

std::shared_ptr<HostMeeting> HostMeetings::of(const GroupId& id) {
  const std::lock_guard held(mutex_);
  std::erase_if(all_, [](const auto& one) { return one.second.expired(); });
  auto meeting = all_[id].lock();
  if (meeting == nullptr) all_[id] = meeting = std::make_shared<HostMeeting>();
  return meeting;
}

Result<std::unique_ptr<Group>> host_group(std::shared_ptr<HostMeeting> meeting, Rank rank, std::uint32_t ranks) {
  auto group = std::make_unique<HostGroup>(std::move(meeting), rank, ranks);
  if (auto joined = group->join(); !joined) return failure(joined.error());
  return group;
}

}  // namespace pounce::device
