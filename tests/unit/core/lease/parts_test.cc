// Rules of the lease core, each alone: a core, its deadlines of one subject, and no other rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "core/lease/rules.h"

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
  PartTest() { core.begin(now); }

  Lease& given(std::uint8_t n, LeaseState state) {
    Lease lease;
    lease.id = numbered<LeaseId>(n);
    lease.state = state;
    lease.job = JobIdentity{SlurmJobId{n}, 1000 + n, 0};
    lease.journalled = true;
    lease.born = lease.since = lease.last_busy = lease.unclaimed_since = now;
    return add_lease(core, std::move(lease));
  }
  using Rule = void (*)(Core&);
  // What a rule orders in one round, so much later.
  std::vector<Action> settle_after(Rule rule, Duration later) {
    now += later;
    core.begin(now);
    core.begin_round();
    rule(core);
    return std::exchange(core.actions, {});
  }
  // When it would order something if nothing else happened.
  Duration waits(Rule rule) { return settle_after(rule, 0s), core.deadline - now; }

  TimePoint now = kStart;
  Core core{numbered<InstanceId>(1), Defaults{}, [] { return numbered<LeaseId>(9); }};
};

// ---- the step -----------------------------------------------------------------------------------------------------

TEST_F(PartTest, AClockThatGoesBackChangesNothing) {
  core.begin(now - 1h);
  EXPECT_EQ(core.now, now);
}

TEST_F(PartTest, OfTheTimesThatAreNotDueTheNearestIsTheDeadline) {
  core.begin_round();
  EXPECT_FALSE(core.due(now + 2s));
  EXPECT_FALSE(core.due(now + 1s));
  EXPECT_TRUE(core.due(now));
  EXPECT_EQ(core.deadline, now + 1s);
}

// ---- leases and sessions ------------------------------------------------------------------------------------------

TEST_F(PartTest, AJobIdThatSlurmUsesAgainIsNotOurs) {
  Lease& lease = given(1, LeaseState::kQueued);
  JobView view;
  view.job_identity = *lease.job;
  EXPECT_EQ(lease_of_job(core, view), &lease);
  view.job_identity.submit_time_s += 1;
  EXPECT_EQ(lease_of_job(core, view), nullptr);
  view.lease = lease.id;  // its tag says that it is: a requeue changes the submit time
  EXPECT_EQ(lease_of_job(core, view), &lease);
}

TEST_F(PartTest, AGoodbyeIsRememberedUntilTheSessionOpensAgain) {
  const auto id = numbered<SessionId>(1);
  open_session(core, id);
  close_session(core, id);
  core.sessions.erase(id);
  EXPECT_TRUE(has_closed(core, id));
  EXPECT_FALSE(core.sessions.contains(id));
  open_session(core, id);
  EXPECT_FALSE(has_closed(core, id));
}

TEST_F(PartTest, ALeaseIsNeededWhileItsSessionIsAwaitedOrItsRequestHasTasks) {
  Lease& lease = given(1, LeaseState::kIdle);
  EXPECT_FALSE(needed(core, lease));
  lease.owner = Owner{numbered<SessionId>(1), RequestId{1}};
  Session& session = open_session(core, lease.owner->session);
  session.awaited_until = now + 1s;
  EXPECT_TRUE(needed(core, lease));
  session.awaited_until.reset();
  EXPECT_FALSE(needed(core, lease));
  session.requests[RequestId{1}].request.waiting = 1;
  EXPECT_TRUE(needed(core, lease));
}

// ---- Slurm's answers ----------------------------------------------------------------------------------------------

TEST_F(PartTest, WhetherSlurmAnswersIsNewsOnlyWhenItChanges) {
  const Cause timeout{.code = CauseCode::kSaid, .said = "timeout"},
      refused{.code = CauseCode::kSaid, .said = "refused"};
  EXPECT_FALSE(note_reach(core, true, {}));
  EXPECT_TRUE(note_reach(core, false, timeout));
  EXPECT_FALSE(note_reach(core, false, refused));
  EXPECT_EQ(core.slurm.why, timeout);
  EXPECT_TRUE(note_reach(core, true, {}));
  EXPECT_EQ(core.slurm.back_since, now);
}

TEST_F(PartTest, APollAsksForAllJobsAtOnceAndThenLessOften) {
  given(1, LeaseState::kQueued);
  given(2, LeaseState::kEnding);
  EXPECT_EQ(waits(settle_polling), core.times.poll_min);
  const auto ordered = settle_after(settle_polling, 2s);
  ASSERT_THAT(ordered, SizeIs(1));
  EXPECT_THAT(std::get<PollJobs>(ordered[0]).jobs, SizeIs(2));
  EXPECT_THAT(settle_after(settle_polling, 1h), IsEmpty());  // never two under way
  for (const Duration wait : {2s, 4s, 8s, 16s, 30s, 30s}) {
    ASSERT_TRUE(poll_answered(core));
    EXPECT_EQ(waits(settle_polling), wait);
    ASSERT_THAT(settle_after(settle_polling, wait), SizeIs(1));
  }
}

TEST_F(PartTest, WhereNothingIsOnItsWayNothingIsPolled) {
  given(1, LeaseState::kRequested).job.reset();
  EXPECT_THAT(settle_after(settle_polling, 1h), IsEmpty());
  EXPECT_EQ(core.deadline, TimePoint::max());
  EXPECT_FALSE(poll_answered(core));
}

TEST_F(PartTest, AReconciliationThatFailsIsRepeatedWithLongerWaits) {
  EXPECT_THAT(settle_after(settle_reconciliation, 1h), IsEmpty());  // not before the journal is read
  ASSERT_TRUE(read_journal(core));
  EXPECT_FALSE(read_journal(core));
  EXPECT_THAT(settle_after(settle_reconciliation, 0s), SizeIs(1));
  for (const Duration wait : {2s, 4s, 8s}) {
    ASSERT_TRUE(reconciliation_answered(core, false));
    EXPECT_EQ(waits(settle_reconciliation), wait);
    EXPECT_THAT(settle_after(settle_reconciliation, wait), SizeIs(1));
  }
  EXPECT_FALSE(core.reconciliation.done_once);
}

TEST_F(PartTest, ADoubtNeedsTwoReconciliationsThatLeaveNone) {
  read_journal(core);
  settle_after(settle_reconciliation, 0s);
  const LeaseId doubted = take_on_trust(core, numbered<LeaseId>(1)).id;
  ASSERT_TRUE(reconciliation_answered(core, true));  // it still is in doubt: this one does not count
  EXPECT_EQ(waits(settle_reconciliation), core.times.poll_min);
  settle_after(settle_reconciliation, 2s);
  find_lease(core, doubted)->state = LeaseState::kEnded;
  ASSERT_TRUE(reconciliation_answered(core, true));
  ASSERT_THAT(settle_after(settle_reconciliation, core.times.reconcile_interval), SizeIs(1));
  ASSERT_TRUE(reconciliation_answered(core, true));
  EXPECT_THAT(settle_after(settle_reconciliation, 0s), IsEmpty());
  EXPECT_EQ(core.deadline, TimePoint::max());
}

// ---- starts, waits, idle times ------------------------------------------------------------------------------------

TEST_F(PartTest, WhoStandsInLineStartsWhenAsManyStartsAreAnHourOld) {
  core.times.starts_per_hour = 2;
  EXPECT_EQ(next_start(core, 0), kStart);
  core.starts = {kStart, kStart + 10min};
  core.begin(kStart + 20min);
  EXPECT_EQ(next_start(core, 0), kStart + 60min);
  EXPECT_EQ(next_start(core, 1), kStart + 70min);
  EXPECT_EQ(next_start(core, 2), kStart + 20min + 60min);  // behind one that starts now
  core.begin(kStart + 60min);
  EXPECT_EQ(next_start(core, 0), kStart + 60min);
}

TEST_F(PartTest, EachWaitBeforeANewTryIsTwiceTheLast) {
  RequestState record;
  for (const Duration wait : {2s, 4s, 8s, 16s, 30s, 30s}) {
    hold_off(core, record, Error{ErrorCode::kSlurmUnreachable, "as the test says", {}, {}});
    EXPECT_EQ(record.not_before, now + wait);
  }
}

TEST_F(PartTest, TheLastOfTooManyBadStartsFailsTheRequest) {
  Lease& lease = given(1, LeaseState::kStarting);
  lease.owner = Owner{numbered<SessionId>(1), RequestId{1}};
  RequestState& record = open_session(core, lease.owner->session).requests[RequestId{1}];
  const Error why{ErrorCode::kLeaseEnded, "as the test says", {}, {}};
  for (std::uint32_t n = 1; n < core.times.crash_limit; ++n) count_bad_start(core, lease, why);
  EXPECT_FALSE(record.failed);
  count_bad_start(core, lease, why);
  EXPECT_TRUE(record.failed);
  EXPECT_THAT(core.actions, SizeIs(1));
}

TEST_F(PartTest, TheQueueIsLookedAtOnlyWhileALeaseIsKeptPastItsUsualTime) {
  core.times.keep_warm = 1h;
  Lease& lease = given(1, LeaseState::kIdle);
  EXPECT_EQ(waits(settle_look), core.times.idle_release);
  EXPECT_FALSE(reusable(core, lease));
  const auto ordered = settle_after(settle_look, 60s);
  ASSERT_THAT(ordered, SizeIs(1));
  EXPECT_THAT(std::get<TakeQueueSnapshot>(ordered[0]).jobs, ElementsAre(*lease.job));
  EXPECT_TRUE(reusable(core, lease));
}

TEST_F(PartTest, WhereTheJobsOfOthersAreHiddenAnIdleLeaseIsKeptAShortTime) {
  core.times.keep_warm = 1h;
  given(1, LeaseState::kIdle);
  settle_after(settle_look, 60s);
  EXPECT_EQ(kept(core), 1h + 60s);
  EXPECT_THAT(wanted_by_others(core, {QueueSnapshot{true, {}, {}, {}}}), IsEmpty());
  EXPECT_TRUE(core.look.blind);
  EXPECT_EQ(kept(core), 2 * 60s);
}

TEST_F(PartTest, TheLongestIdleLeaseGoesToTheJobThatWaits) {
  core.times.keep_warm = 1h;
  Lease& later = given(1, LeaseState::kIdle);
  Lease& first = given(2, LeaseState::kIdle);
  first.last_busy -= 1s;
  settle_after(settle_look, 60s);
  const Room gpu{{{"a100", 1}}, 1, 0};
  const QueueSnapshot look{false,
                           {{{"gpu"}, "", {}, {}, 1, gpu}},
                           {{*later.job, "g1", gpu}, {*first.job, "g1", gpu}},
                           {{"g1", {"gpu"}, {}, {}}}};
  EXPECT_THAT(wanted_by_others(core, {look}), ElementsAre(&first));
}

TEST_F(PartTest, TheDaemonIsToldOnceToEndAndAgainAfterASession) {
  read_journal(core);
  EXPECT_EQ(waits(settle_daemon), core.times.daemon_idle_exit);
  EXPECT_THAT(settle_after(settle_daemon, core.times.daemon_idle_exit), SizeIs(1));
  EXPECT_THAT(settle_after(settle_daemon, 1h), IsEmpty());
  open_session(core, numbered<SessionId>(1));
  EXPECT_THAT(settle_after(settle_daemon, 1h), IsEmpty());
  core.sessions.erase(numbered<SessionId>(1));
  EXPECT_THAT(settle_after(settle_daemon, 0s), IsEmpty());
  EXPECT_THAT(settle_after(settle_daemon, core.times.daemon_idle_exit), SizeIs(1));
}

// ---- transitions --------------------------------------------------------------------------------------------------

TEST_F(PartTest, IgnoredNewsIsCountedAndToldInTheHistory) {
  Lease& lease = given(1, LeaseState::kEnded);
  EXPECT_FALSE(accept(core, lease, Trigger::kWorkerSeen));
  EXPECT_EQ(core.counters.ignored, 1u);
  EXPECT_EQ(lease.history.lines().back().why,
            (Cause{.code = CauseCode::kIgnored, .word = "worker heard", .said = "it has ended"}));
}

TEST_F(PartTest, ATransitionWithoutNewsThatAllowsItIsABreach) {
  Lease& lease = given(1, LeaseState::kQueued);
  ASSERT_TRUE(accept(core, lease, Trigger::kJobRunning));
  enter(core, lease, LeaseState::kStarting, CauseCode::kJobStarts);
  EXPECT_EQ(core.breach, "");
  enter(core, lease, LeaseState::kRequested, CauseCode::kReady);
  EXPECT_NE(core.breach, "");
}

}  // namespace
}  // namespace pounce::lease
