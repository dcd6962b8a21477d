// Any events in any order: the invariants hold after each, no task ends twice, and all end when everything stops.
#include <map>
#include <random>

#include "unit/core/task/world.h"

namespace pounce::task {
namespace {

class Walk {
 public:
  explicit Walk(std::uint32_t seed) : random_(seed) {}

  void step() {
    now_ += std::chrono::milliseconds(pick(400));
    apply(event());
  }
  void stop() {
    apply(ClientClosing{});
    for (const auto& [id, ends] : ends_) EXPECT_EQ(ends, 1) << name(id);
    EXPECT_EQ(ends_.size(), submitted_);
  }

 private:
  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  WorkerRef some_place() { return place(1 + pick(4)); }
  RequestId some_request() { return RequestId{static_cast<std::uint32_t>(1 + pick(6))}; }
  Epoch some_epoch() { return Epoch{static_cast<std::uint32_t>(1 + pick(4))}; }
  PublicKey some_key() { return PublicKey{{static_cast<std::uint8_t>(pick(3))}}; }
  TaskId some_task() { return task(1 + pick(1 + static_cast<int>(submitted_))); }
  Error error() {
    constexpr ErrorCode kCodes[] = {ErrorCode::kWorkerCrashed, ErrorCode::kJobCancelled, ErrorCode::kNodeFailed};
    return {kCodes[pick(3)], "", {}, {}};
  }

  Event event() {
    switch (pick(submitted_ < 200 ? 18 : 17)) {
      case 0:
        return CancelRequested{some_task()};
      case 1:
        return SessionOpened{};
      case 2:
        return pick(2)    ? Event(MoreToCome{some_resources(), pick(40) - 20})
               : pick(20) ? Event(TimePassed{})
                          : Event(DaemonFailed{error()});
      case 3:
      case 4:
        return WorkerGranted{some_request(), some_place(), some_epoch(), some_key()};
      case 5:
        return WorkerDied{some_place(), some_epoch(), error(),
                          pick(2) ? std::nullopt : std::optional(std::vector{some_task()}), some_key()};
      case 6:
        return pick(4) ? Event(TimePassed{}) : Event(LeaseLost{some_request(), some_place().lease, error()});
      case 7:
        return pick(10) ? Event(TimePassed{}) : Event(RequestRefused{some_request(), error()});
      case 8:
      case 9:
        return WorkerAttached{some_place(), some_epoch()};
      case 10:
        return unreachable_or_silent();
      case 11:
        return pick(20) ? Event(TimePassed{}) : Event(WorkerRefusedUs{some_place(), some_epoch(), error()});
      case 12:
        return pick(10) ? Event(TaskStarted{some_place(), some_epoch(), some_task()})
                        : Event(WorkerLeaving{some_place(), some_epoch(), {some_task()}});
      case 13:
        return OutcomeArrived{some_place(), some_epoch(), some_task()};
      case 14:
        return QueryAnswered{some_place(), some_epoch(), some_task(), static_cast<RemoteTaskState>(pick(6))};
      case 15:
        return pick(10) ? Event(TimePassed{}) : Event(TaskUnsendable{some_task(), error()});
      case 16:
        return TaskMoved{some_task(), some_resources()};
      default:
        return new_task();
    }
  }
  Event unreachable_or_silent() {
    switch (pick(3)) {
      case 0:
        return WorkerUnreachable{some_place(), some_epoch()};
      case 1:
        return WorkerSilent{some_place(), some_epoch()};
      default:
        return WorkerSeen{some_place(), some_epoch()};
    }
  }
  Event new_task() {
    const auto only_on = pick(8) ? std::nullopt : std::optional(WorkerIndex{static_cast<std::uint32_t>(pick(2))});
    return TaskSubmitted{task(static_cast<int>(++submitted_)), some_resources(), static_cast<std::uint32_t>(pick(3)),
                         only_on};
  }
  Resources some_resources() {
    Resources resources;
    resources.gpus = static_cast<std::uint32_t>(pick(3));
    if (resources.gpus == 2) resources.leases_least = 1, resources.leases_most = 3;
    return resources;
  }

  void apply(const Event& event) {
    for (const Action& action : machine_.handle(event, now_)) {
      if (const auto* done = std::get_if<Deliver>(&action)) ++ends_[done->task];
      if (const auto* failed = std::get_if<Fail>(&action)) ++ends_[failed->task];
      if (const auto* sent = std::get_if<SendTask>(&action)) {
        EXPECT_FALSE(ends_.contains(sent->task));
      }
    }
    machine_.check_invariants();
  }

  std::mt19937 random_;
  Machine machine_{Settings{.window = 3, .short_task = 300ms}};
  TimePoint now_ = TimePoint{} + 1h;
  std::size_t submitted_ = 0;
  std::map<TaskId, int> ends_;
};

TEST(RandomTaskTest, EveryTaskEndsOnceWhateverHappens) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Walk walk(seed);
    for (int i = 0; i < 2000; ++i) walk.step();
    walk.stop();
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

}  // namespace
}  // namespace pounce::task
