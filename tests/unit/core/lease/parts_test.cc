// The parts of the lease core that own data, each alone: a context, the part, and no other rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "core/lease/daemon_life.h"
#include "core/lease/idle_reuse.h"
#include "core/lease/requests.h"
#include "core/lease/start_rate.h"
#include "core/lease/transitions.h"

namespace pounce::lease {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

template <class Id>
Id numbered(std::uint8_t n) {
  std::array<std::uint8_t, Id::kBytes> bytes{};
  bytes.back() = n;
  return Id(bytes);
}

constexpr TimePoint kStart{std::chrono::hours(1000)};

class PartTest : public ::testing::Test {
 protected:
  PartTest() { context.begin(now); }

  Lease& given(std::uint8_t n, LeaseState state) {
    Lease lease;
    lease.id = numbered<LeaseId>(n);
    lease.state = state;
    lease.job = JobIdentity{SlurmJobId{n}, 1000 + n, 0};
    lease.journalled = true;
    lease.born = lease.since = lease.last_busy = lease.unclaimed_since = now;
    return context.leases.add(std::move(lease));
  }
  // What a part orders in one round, so much later.
  template <class Part>
  std::vector<Action> settle_after(Part& part, Duration later) {
    now += later;
    context.begin(now);
    context.begin_round();
    part.settle();
    return context.take_actions();
  }
  // When it would order something if nothing else happened.
  template <class Part>
  Duration waits(Part& part) {
    return settle_after(part, 0s), context.deadline() - now;
  }

  TimePoint now = kStart;
  Context context{numbered<InstanceId>(1), Defaults{}};
};

// ---- the step ------------------------------------------------------------------------------------------------------------

TEST_F(PartTest, AClockThatGoesBackChangesNothing) {
  context.begin(now - 1h);
  EXPECT_EQ(context.now(), now);
}

TEST_F(PartTest, OfTheTimesThatAreNotDueTheNearestIsTheDeadline) {
  context.begin_round();
  EXPECT_FALSE(context.due(now + 2s));
  EXPECT_FALSE(context.due(now + 1s));
  EXPECT_TRUE(context.due(now));
  EXPECT_EQ(context.deadline(), now + 1s);
}

// ---- leases and sessions -------------------------------------------------------------------------------------------------

TEST_F(PartTest, AJobIdThatSlurmUsesAgainIsNotOurs) {
  Lease& lease = given(1, LeaseState::kQueued);
  JobView view;
  view.job_identity = *lease.job;
  EXPECT_EQ(context.leases.of_job(view), &lease);
  view.job_identity.submit_time_s += 1;
  EXPECT_EQ(context.leases.of_job(view), nullptr);
  view.lease = lease.id;  // its tag says that it is: a requeue changes the submit time
  EXPECT_EQ(context.leases.of_job(view), &lease);
}

TEST_F(PartTest, AGoodbyeIsRememberedUntilTheSessionOpensAgain) {
  const auto id = numbered<SessionId>(1);
  context.sessions.open(id);
  context.sessions.say_goodbye(id);
  context.sessions.forget(id);
  EXPECT_TRUE(context.sessions.said_goodbye(id));
  EXPECT_FALSE(context.sessions.here(id));
  context.sessions.open(id);
  EXPECT_FALSE(context.sessions.said_goodbye(id));
}

TEST_F(PartTest, ALeaseIsNeededWhileItsSessionIsAwaitedOrItsRequestHasTasks) {
  Lease& lease = given(1, LeaseState::kIdle);
  EXPECT_FALSE(context.sessions.needed(lease));
  lease.owner = Owner{numbered<SessionId>(1), RequestId{1}};
  Session& session = context.sessions.open(lease.owner->session);
  session.awaited_until = now + 1s;
  EXPECT_TRUE(context.sessions.needed(lease));
  session.awaited_until.reset();
  EXPECT_FALSE(context.sessions.needed(lease));
  session.requests[RequestId{1}].request.waiting = 1;
  EXPECT_TRUE(context.sessions.needed(lease));
}

// ---- Slurm's answers -----------------------------------------------------------------------------------------------------

TEST_F(PartTest, WhetherSlurmAnswersIsNewsOnlyWhenItChanges) {
  const Cause timeout{.code = CauseCode::kSaid, .said = "timeout"}, refused{.code = CauseCode::kSaid, .said = "refused"};
  EXPECT_FALSE(context.slurm.note(true, {}));
  EXPECT_TRUE(context.slurm.note(false, timeout));
  EXPECT_FALSE(context.slurm.note(false, refused));
  EXPECT_EQ(context.slurm.why(), timeout);
  EXPECT_TRUE(context.slurm.note(true, {}));
  EXPECT_EQ(context.slurm.back_since(), now);
}

TEST_F(PartTest, APollAsksForAllJobsAtOnceAndThenLessOften) {
  given(1, LeaseState::kQueued);
  given(2, LeaseState::kEnding);
  EXPECT_EQ(waits(context.polling), context.times.poll_min);
  const auto ordered = settle_after(context.polling, 2s);
  ASSERT_THAT(ordered, SizeIs(1));
  EXPECT_THAT(std::get<PollJobs>(ordered[0]).jobs, SizeIs(2));
  EXPECT_THAT(settle_after(context.polling, 1h), IsEmpty());  // never two under way
  for (const Duration wait : {2s, 4s, 8s, 16s, 30s, 30s}) {
    ASSERT_TRUE(context.polling.answered());
    EXPECT_EQ(waits(context.polling), wait);
    ASSERT_THAT(settle_after(context.polling, wait), SizeIs(1));
  }
}

TEST_F(PartTest, WhereNothingIsOnItsWayNothingIsPolled) {
  given(1, LeaseState::kRequested).job.reset();
  EXPECT_THAT(settle_after(context.polling, 1h), IsEmpty());
  EXPECT_EQ(context.deadline(), TimePoint::max());
  EXPECT_FALSE(context.polling.answered());
}

TEST_F(PartTest, AReconciliationThatFailsIsRepeatedWithLongerWaits) {
  Reconciliation& all = context.reconciliation;
  EXPECT_THAT(settle_after(all, 1h), IsEmpty());  // not before the journal is read
  ASSERT_TRUE(all.read_journal());
  EXPECT_FALSE(all.read_journal());
  EXPECT_THAT(settle_after(all, 0s), SizeIs(1));
  for (const Duration wait : {2s, 4s, 8s}) {
    ASSERT_TRUE(all.answered(false));
    EXPECT_EQ(waits(all), wait);
    EXPECT_THAT(settle_after(all, wait), SizeIs(1));
  }
  EXPECT_FALSE(all.done_once());
}

TEST_F(PartTest, ADoubtNeedsTwoReconciliationsThatLeaveNone) {
  Reconciliation& all = context.reconciliation;
  all.read_journal();
  settle_after(all, 0s);
  const LeaseId doubted = all.take_on_trust(numbered<LeaseId>(1)).id;
  ASSERT_TRUE(all.answered(true));  // it still is in doubt: this one does not count
  EXPECT_EQ(waits(all), context.times.poll_min);
  settle_after(all, 2s);
  context.leases.find(doubted)->state = LeaseState::kEnded;
  ASSERT_TRUE(all.answered(true));
  ASSERT_THAT(settle_after(all, context.times.reconcile_interval), SizeIs(1));
  ASSERT_TRUE(all.answered(true));
  EXPECT_THAT(settle_after(all, 0s), IsEmpty());
  EXPECT_EQ(context.deadline(), TimePoint::max());
}

// ---- starts, waits, idle times ---------------------------------------------------------------------------------------------

TEST(StartRateTest, WhoStandsInLineStartsWhenAsManyStartsAreAnHourOld) {
  StartRate rate;
  EXPECT_EQ(rate.next(kStart, 2, 0), kStart);
  rate.started(kStart);
  rate.started(kStart + 10min);
  const TimePoint now = kStart + 20min;
  EXPECT_EQ(rate.next(now, 2, 0), kStart + 60min);
  EXPECT_EQ(rate.next(now, 2, 1), kStart + 70min);
  EXPECT_EQ(rate.next(now, 2, 2), now + 60min);  // behind one that starts now
  EXPECT_EQ(rate.next(kStart + 60min, 2, 0), kStart + 60min);
}

TEST_F(PartTest, EachWaitBeforeANewTryIsTwiceTheLast) {
  Requests requests(context);
  RequestState record;
  for (const Duration wait : {2s, 4s, 8s, 16s, 30s, 30s}) {
    requests.hold_off(record, Error{ErrorCode::kSlurmUnreachable, "as the test says", {}, {}});
    EXPECT_EQ(record.not_before, now + wait);
  }
}

TEST_F(PartTest, TheLastOfTooManyBadStartsFailsTheRequest) {
  Requests requests(context);
  Lease& lease = given(1, LeaseState::kStarting);
  lease.owner = Owner{numbered<SessionId>(1), RequestId{1}};
  RequestState& record = context.sessions.open(lease.owner->session).requests[RequestId{1}];
  const Error why{ErrorCode::kLeaseEnded, "as the test says", {}, {}};
  for (std::uint32_t n = 1; n < context.times.crash_limit; ++n) requests.count_bad_start(lease, why);
  EXPECT_FALSE(record.failed);
  requests.count_bad_start(lease, why);
  EXPECT_TRUE(record.failed);
  EXPECT_THAT(context.take_actions(), SizeIs(1));
}

TEST_F(PartTest, TheQueueIsLookedAtOnlyWhileALeaseIsKeptPastItsUsualTime) {
  context.times.keep_warm = 1h;
  StepYield steps{context};
  IdleReuse idle(context, steps);
  Lease& lease = given(1, LeaseState::kIdle);
  EXPECT_EQ(waits(idle), context.times.idle_release);
  EXPECT_FALSE(idle.reusable(lease));
  const auto ordered = settle_after(idle, 60s);
  ASSERT_THAT(ordered, SizeIs(1));
  EXPECT_THAT(std::get<TakeQueueSnapshot>(ordered[0]).jobs, ElementsAre(*lease.job));
  EXPECT_TRUE(idle.reusable(lease));
}

TEST_F(PartTest, WhereTheJobsOfOthersAreHiddenAnIdleLeaseIsKeptAShortTime) {
  context.times.keep_warm = 1h;
  StepYield steps{context};
  IdleReuse idle(context, steps);
  given(1, LeaseState::kIdle);
  settle_after(idle, 60s);
  EXPECT_EQ(idle.kept(), 1h + 60s);
  EXPECT_THAT(idle.wanted_by_others({QueueSnapshot{true, {}, {}, {}}}), IsEmpty());
  EXPECT_TRUE(idle.blind());
  EXPECT_EQ(idle.kept(), 2 * 60s);
}

TEST_F(PartTest, ForWhomeverWaitsTheLongestIdleLeaseGoes) {
  context.times.keep_warm = 1h;
  StepYield steps{context};
  IdleReuse idle(context, steps);
  Lease& later = given(1, LeaseState::kIdle);
  Lease& first = given(2, LeaseState::kIdle);
  first.last_busy -= 1s;
  settle_after(idle, 60s);
  const Room gpu{{{"a100", 1}}, 1, 0};
  const QueueSnapshot look{false, {{{"gpu"}, "", {}, {}, 1, gpu}}, {{*later.job, "g1", gpu}, {*first.job, "g1", gpu}}, {{"g1", {"gpu"}, {}, {}}}};
  EXPECT_THAT(idle.wanted_by_others({look}), ElementsAre(&first));
}

TEST_F(PartTest, TheDaemonIsToldOnceToEndAndAgainAfterASession) {
  DaemonLife life(context);
  context.reconciliation.read_journal();
  EXPECT_EQ(waits(life), context.times.daemon_idle_exit);
  EXPECT_THAT(settle_after(life, context.times.daemon_idle_exit), SizeIs(1));
  EXPECT_THAT(settle_after(life, 1h), IsEmpty());
  context.sessions.open(numbered<SessionId>(1));
  EXPECT_THAT(settle_after(life, 1h), IsEmpty());
  context.sessions.forget(numbered<SessionId>(1));
  EXPECT_THAT(settle_after(life, 0s), IsEmpty());
  EXPECT_THAT(settle_after(life, context.times.daemon_idle_exit), SizeIs(1));
}

// ---- transitions ---------------------------------------------------------------------------------------------------------

class TransitionsTest : public PartTest {
 protected:
  StepYield steps{context};
  IdleReuse idle{context, steps};
  Notices notices{context, idle};
  Transitions transitions{context, notices};
};

TEST_F(TransitionsTest, IgnoredNewsIsCountedAndToldInTheHistory) {
  Lease& lease = given(1, LeaseState::kEnded);
  EXPECT_FALSE(transitions.accept(lease, News::kWorkerSeen));
  EXPECT_EQ(context.counters().ignored, 1u);
  EXPECT_EQ(lease.history.lines().back().why, (Cause{.code = CauseCode::kIgnored, .word = "worker heard", .said = "it has ended"}));
}

TEST_F(TransitionsTest, ATransitionWithoutNewsThatAllowsItIsABreach) {
  Lease& lease = given(1, LeaseState::kQueued);
  ASSERT_TRUE(transitions.accept(lease, News::kJobRunning));
  transitions.enter(lease, LeaseState::kStarting, CauseCode::kJobStarts);
  EXPECT_EQ(transitions.breach(), "");
  transitions.enter(lease, LeaseState::kRequested, CauseCode::kReady);
  EXPECT_NE(transitions.breach(), "");
}

}  // namespace
}  // namespace pounce::lease
