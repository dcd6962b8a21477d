// Every state meets every event: on time, late, twice, and from the wrong worker or job. Nothing aborts, nothing
// breaks.
#include "unit/core/lease/lease_world.h"

namespace pounce::lease {
namespace {

class PairWorld : public LeaseWorld {
 public:
  void given(LeaseState wished) {
    switch (wished) {
      case LeaseState::kRequested:
        tell(JournalRead{});
        open();
        return demand(1);
      case LeaseState::kSubmitting:
        return given_submitting();
      case LeaseState::kQueued:
        return given_queued();
      case LeaseState::kStarting:
        return given_starting();
      case LeaseState::kIdle:
        return given_idle();
      case LeaseState::kBusy:
        return given_busy();
      case LeaseState::kDraining:
        return given_draining();
      case LeaseState::kEnding:
        return given_ending();
      case LeaseState::kEnded:
        given_queued();
        return polled(view(JobState::kEnded, JobEnd::kTimeout));
    }
  }

  std::vector<Event> everything() const {
    std::vector<Event> events{SessionOpened{session(1)},
                              SessionSeen{session(1)},
                              JournalRead{},
                              Submitted{lease(1), job(7)},
                              Submitted{lease(1), job(99)},
                              SubmitFailed{lease(1), trouble(ErrorCode::kOutcomeUnknown)},
                              SubmitFailed{lease(1), trouble(ErrorCode::kRejected)},
                              ReconcileDone{std::vector<JobView>{}},
                              ReconcileDone{tl::unexpected(trouble(ErrorCode::kSlurmUnreachable))},
                              Polled{tl::unexpected(trouble(ErrorCode::kSlurmUnreachable))},
                              QueueSnapshotTaken{somebody_waits()},
                              QueueSnapshotTaken{QueueSnapshot{true, {}, {}, {}}},
                              QueueSnapshotTaken{tl::unexpected(trouble(ErrorCode::kTimeout))},
                              CancelDone{lease(1), {}},
                              CancelDone{lease(1), tl::unexpected(trouble(ErrorCode::kTimeout))},
                              connected(),
                              connected(1),
                              connected(0, 99),
                              TimePassed{}};
    for (const JobState state :
         {JobState::kUnknown, JobState::kQueued, JobState::kRunning, JobState::kEnding, JobState::kEnded}) {
      const JobEnd end = state == JobState::kEnded ? JobEnd::kFailed : JobEnd::kNone;
      for (const std::uint32_t restart : {0u, 1u}) {
        events.push_back(Polled{std::vector{view(state, end, job(7, restart))}});
        events.push_back(ReconcileDone{std::vector{view(state, end, job(7, restart))}});
        events.push_back(ReconcileDone{std::vector{view(state, end, job(99, restart))}});
      }
    }
    for (const WorkerLink which : {WorkerLink{1}, WorkerLink{99}}) {
      for (const std::uint32_t epoch : {0u, 1u, 2u}) {
        events.push_back(InterpreterStarted{lease(1), WorkerIndex{0}, which, Epoch{epoch}});
        for (const bool again : {true, false})
          events.push_back(InterpreterDied{lease(1), WorkerIndex{0}, which, Epoch{epoch},
                                           trouble(ErrorCode::kWorkerCrashed), again});
      }
      for (const std::uint32_t running : {0u, 1u})
        events.push_back(WorkerSeen{lease(1), WorkerIndex{0}, which, running});
      for (const bool cut : {false, true}) events.push_back(WorkerLost{lease(1), WorkerIndex{0}, which, cut});
    }
    for (const std::uint32_t waiting : {0u, 1u})
      for (const std::uint32_t running : {0u, 1u})
        events.push_back(DemandChanged{session(1), {{RequestId{1}, one_gpu(), waiting, running, {lease(1)}}}});
    events.push_back(DemandChanged{session(1), {}});
    events.push_back(DemandChanged{session(1), {{RequestId{1}, resources("lion", 2), 1, 0, {}}}});
    events.push_back(SessionClosed{session(1)});
    for (const bool at_once : {false, true})
      events.push_back(ReleaseAsked{lease(1), at_once, trouble(ErrorCode::kLeaseEnded)});
    return events;
  }

  // Whatever it was: when the client goes and Slurm shows no job, no lease is left.
  void leave() {
    tell(SessionClosed{session(1)});
    for (int i = 0; i < 40 && !core.leases().empty(); ++i) {
      advance(31s);
      for (int n = 1; n <= leases_made; ++n) {
        tell(SubmitFailed{lease(n), trouble(ErrorCode::kOutcomeUnknown)});
        tell(CancelDone{lease(n), {}});
      }
      tell(ReconcileDone{std::vector<JobView>{}});
      tell(Polled{std::vector<JobView>{}});
    }
  }
};

class PairsTest : public ::testing::TestWithParam<int> {};

TEST_P(PairsTest, KeepsTheInvariantsWhateverComesAndHoweverOften) {
  const auto state = static_cast<LeaseState>(GetParam());
  const std::size_t events = PairWorld().everything().size();
  for (std::size_t which = 0; which < events; ++which) {
    SCOPED_TRACE("event " + std::to_string(which));
    PairWorld world;
    const Event event = world.everything()[which];
    world.given(state);
    if (state != LeaseState::kEnded) {
      ASSERT_EQ(world.state(), state);
    }
    world.tell(event);  // asserts the invariants
    world.tell(event);
    world.tell(TimePassed{});
    world.leave();
    ASSERT_TRUE(world.core.leases().empty());
  }
}

INSTANTIATE_TEST_SUITE_P(EachState, PairsTest, ::testing::Range(0, kLeaseStates));

}  // namespace
}  // namespace pounce::lease
