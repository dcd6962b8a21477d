// Reconciliations: adoption, excess jobs, and whose jobs are whose.
#include "unit/core/lease/lease_world.h"

namespace pounce::lease {
namespace {

class ReconcileTest : public LeaseTest {
 protected:
  JournalRecord intent(int of = 1, int who = 1) const {
    return {JournalRecord::Kind::kIntent, lease(of), one_gpu(), session(who), RequestId{1}, {}, {}};
  }
  JournalRecord submitted(int of = 1) const {
    return {JournalRecord::Kind::kSubmitted, lease(of), {}, {}, {}, job(7), {}};
  }
  JournalRecord ended(int of = 1) const {
    return {JournalRecord::Kind::kEnded, lease(of), {}, {}, {}, {}, Cause{CauseCode::kIdle}};
  }
  void claim(std::uint32_t waiting, std::uint32_t running, int who = 1, std::vector<LeaseId> holds = {lease(1)}) {
    tell(DemandChanged{session(who), {{RequestId{1}, one_gpu(), waiting, running, std::move(holds)}}});
  }
  WorkerConnected connected_with(std::vector<SessionId> clients) const {
    WorkerConnected event = connected();
    event.clients = std::move(clients);
    return event;
  }
  void given_a_worker_with_the_client_of_an_earlier_pounced() {
    start({intent(), submitted()}, {view(JobState::kRunning)});
    open();
    claim(0, 1);
    tell(connected_with({session(1), session(2)}));
    tell(InterpreterStarted{lease(1), WorkerIndex{0}, link, Epoch{4}});
  }
  void given_a_lease_of_another_that_session_1_holds() {
    start({}, {view(JobState::kRunning)});
    tell(connected());
    tell(InterpreterStarted{lease(1), WorkerIndex{0}, link, Epoch{2}});
    tell(WorkerSeen{lease(1), WorkerIndex{0}, link, 0});
    open(2);
    demand(1, 0, one_gpu(), 2);
    open(1);
    claim(0, 1);
  }
};

TEST_F(ReconcileTest, JobsOfAnotherInstanceAreNeverTouched) {
  JobView foreign = view(JobState::kRunning);
  foreign.instance = other_instance();
  start({}, {foreign});
  EXPECT_TRUE(core.leases().empty());
  EXPECT_EQ(count<CancelJob>(), 0u);
}

TEST_F(ReconcileTest, JobsWithoutATagAreNeverTouched) {
  JobView foreign = view(JobState::kRunning);
  foreign.instance.reset();
  foreign.lease.reset();
  start({}, {foreign});
  EXPECT_TRUE(core.leases().empty());
}

TEST_F(ReconcileTest, ASecondJobOfOneLeaseIsCancelled) {
  given_queued();
  reconciled_jobs({view(JobState::kQueued), view(JobState::kQueued, JobEnd::kNone, job(8))});
  ASSERT_EQ(count<CancelJob>(), 1u);
  EXPECT_EQ(only<CancelJob>()[0].job, job(8));
  EXPECT_EQ(state(), LeaseState::kQueued);
}

// The fuzzer of sequences found it: the lease stayed, and Slurm was asked every two seconds until it forgot the job.
TEST_F(ReconcileTest, ALateWorkersLeaseGoesWhenSlurmShowsThatItsJobHasEnded) {
  start();
  tell(connected());
  ASSERT_EQ(state(), LeaseState::kSubmitting);
  reconciled_jobs({view(JobState::kEnded, JobEnd::kCompleted)});
  EXPECT_EQ(state(), std::nullopt);
  EXPECT_EQ(count<EndWorker>(), 1u);
}

// It was adopted, ended as it was, and stood in the journal as one that lives. (Seed 7010267)
TEST_F(ReconcileTest, ALateWorkersLeaseThatHasEndedIsNotAdoptedWhereItsJobIsShownOnceMore) {
  start();
  tell(connected());
  reconciled_jobs({view(JobState::kEnded, JobEnd::kNodeFail)});
  reconciled_jobs({view(JobState::kUnknown)});
  EXPECT_EQ(count<RecordOutcome>(), 0u);
  reconciled_jobs({view(JobState::kRunning)});
  EXPECT_EQ(count<RecordOutcome>(), 0u);
  EXPECT_EQ(count<CancelJob>(), 1u);
}

TEST_F(ReconcileTest, ALateWorkersLeaseStaysWhereOnlyAnEarlierRunOfItsJobHasEnded) {
  start();
  tell(connected(1));
  reconciled_jobs({view(JobState::kEnded, JobEnd::kCompleted)});
  EXPECT_EQ(state(), LeaseState::kSubmitting);
}

TEST_F(ReconcileTest, ARestartWithTheJournalAdoptsTheLeaseForItsOwner) {
  start({intent(), submitted()}, {view(JobState::kRunning)});
  EXPECT_EQ(state(), LeaseState::kStarting);
  tell(connected());
  tell(InterpreterStarted{lease(1), WorkerIndex{0}, link, Epoch{4}});
  open();
  claim(0, 1);
  EXPECT_EQ(state(), LeaseState::kBusy);
  EXPECT_EQ(count<SubmitJob>(), 0u);
}

// It had come back to a lease that was another's by then, and was killed while no pounced was there: its endless task
// kept the lease for ever. (Seed 7025233)
TEST_F(ReconcileTest, AClientOfAWorkerThatOnlyAnEarlierPouncedKnewIsDismissedThereWhenItStaysAway) {
  given_a_worker_with_the_client_of_an_earlier_pounced();
  advance_alive(29s, 1);
  EXPECT_EQ(count<DismissClient>(), 0u);
  advance_alive(3s, 1);
  ASSERT_EQ(count<DismissClient>(), 1u);
  EXPECT_EQ(only<DismissClient>()[0].session, session(2));
  EXPECT_EQ(only<DismissClient>()[0].link, link);
  advance_alive(40s, 1);
  EXPECT_EQ(count<DismissClient>(), 0u);
}

TEST_F(ReconcileTest, AClientOfAnEarlierPouncedThatComesBackInTimeKeepsWhatItHasThere) {
  given_a_worker_with_the_client_of_an_earlier_pounced();
  open(2);
  claim(0, 1, 2);
  for (int second = 0; second < 40; ++second) {
    advance_alive(1s, 1);
    EXPECT_EQ(count<DismissClient>(), 0u);
    tell(SessionSeen{session(2)});
  }
}

// Its tasks are gone there, and the worker knows its key no more: it would try to connect for ever.
TEST_F(ReconcileTest, AClientThatComesBackAfterItWasDismissedIsToldThatItsLeaseIsGone) {
  given_a_worker_with_the_client_of_an_earlier_pounced();
  advance_alive(32s, 1);
  open(2);
  claim(0, 1, 2);
  ASSERT_EQ(count<TellLeaseEnded>(), 1u);
  EXPECT_EQ(only<TellLeaseEnded>()[0].session, session(2));
  EXPECT_EQ(only<TellLeaseEnded>()[0].error.cause.code, CauseCode::kSessionSilent);
  EXPECT_EQ(state(), LeaseState::kBusy);
}

TEST_F(ReconcileTest, WhoMayStillClaimALeaseIsNotDismissedThere) {
  start({}, {view(JobState::kRunning)});
  tell(connected_with({session(2)}));
  tell(InterpreterStarted{lease(1), WorkerIndex{0}, link, Epoch{4}});
  advance_alive(40s);
  EXPECT_EQ(count<DismissClient>(), 0u);
}

TEST_F(ReconcileTest, ARestartDoesNotSubmitForAnOwnerWhoseJobIsThere) {
  tell(JournalRead{{intent(), submitted()}});
  open();
  demand(1);
  tell(ReconcileDone{std::vector{view(JobState::kQueued)}});
  EXPECT_EQ(count<SubmitJob>(), 0u);
  EXPECT_EQ(state(), LeaseState::kQueued);
}

TEST_F(ReconcileTest, AnIntentWithoutAnOutcomeIsADoubt) {
  start({intent()}, {});
  open();
  demand(1);
  EXPECT_EQ(count<SubmitJob>(), 0u);
  reconciled_jobs({view(JobState::kQueued)});
  EXPECT_EQ(state(), LeaseState::kQueued);
}

TEST_F(ReconcileTest, AnIntentThatNeverBecameAJobIsTriedAgain) {
  tell(JournalRead{{intent()}});
  open();
  demand(1);
  tell(ReconcileDone{std::vector<JobView>{}});
  reconciled_jobs({});
  wait_for<SubmitJob>();
  EXPECT_NE(only<SubmitJob>()[0].lease, lease(77));
  EXPECT_EQ(core.leases().size(), 1u);
}

TEST_F(ReconcileTest, AnOwnerWhoDoesNotComeBackLosesTheLease) {
  start({intent(), submitted()}, {view(JobState::kRunning)});
  tell(connected());
  tell(InterpreterStarted{lease(1), WorkerIndex{0}, link, Epoch{4}});
  for (int second = 0; second < 31; ++second) {
    advance(1s);
    if (count<EndWorker>() > 0) return;
    tell(WorkerSeen{lease(1), WorkerIndex{0}, link, 1});
  }
  FAIL() << "the lease of a dead kernel lives on";
}

TEST_F(ReconcileTest, WithoutAJournalARunningLeaseIsAdoptedAndClaimedByItsHolder) {
  start({}, {view(JobState::kRunning)});
  tell(connected());
  tell(InterpreterStarted{lease(1), WorkerIndex{0}, link, Epoch{2}});
  tell(WorkerSeen{lease(1), WorkerIndex{0}, link, 1});
  open();
  claim(0, 1);
  EXPECT_EQ(state(), LeaseState::kBusy);
  EXPECT_EQ(count<GrantWorker>(), 1u);
  EXPECT_EQ(count<SubmitJob>(), 0u);
}

// Its interpreter, of the earlier run, counted as ready: the lease was idle as soon as the job ran again. (Seed 10543)
TEST_F(ReconcileTest, AWorkerThatCameBeforeItsJobWasRequeuedIsNotOfTheAdoptedLease) {
  tell(JournalRead{});
  tell(connected());
  tell(InterpreterStarted{lease(1), WorkerIndex{0}, link, Epoch{2}});
  tell(ReconcileDone{std::vector{view(JobState::kQueued, JobEnd::kNone, job(7, 1))}});
  EXPECT_EQ(state(), LeaseState::kQueued);
  ASSERT_EQ(count<EndWorker>(), 1u);
  EXPECT_EQ(only<EndWorker>()[0].link, link);
  polled(view(JobState::kRunning, JobEnd::kNone, job(7, 1)));
  EXPECT_EQ(state(), LeaseState::kStarting);
}

TEST_F(ReconcileTest, AJobWhoseWorkerHasComeDoesNotWaitInTheQueueAnyMore) {
  tell(JournalRead{});
  tell(connected());
  tell(InterpreterStarted{lease(1), WorkerIndex{0}, link, Epoch{2}});
  tell(WorkerLost{lease(1), WorkerIndex{0}, link, true});
  tell(ReconcileDone{std::vector{view(JobState::kQueued)}});
  EXPECT_EQ(state(), LeaseState::kIdle);
}

TEST_F(ReconcileTest, AnAdoptedLeaseIsInTheJournalAgain) {
  start({}, {view(JobState::kRunning)});
  ASSERT_EQ(count<RecordOutcome>(), 2u);
  EXPECT_EQ(only<RecordOutcome>()[0].record.kind, JournalRecord::Kind::kIntent);
  EXPECT_EQ(only<RecordOutcome>()[1].record.kind, JournalRecord::Kind::kSubmitted);
}

TEST_F(ReconcileTest, AnAdoptedQueuedJobServesARequestThatWaits) {
  tell(JournalRead{});
  open();
  demand(1);
  tell(ReconcileDone{std::vector{view(JobState::kQueued, JobEnd::kNone, job(7), 50)}});
  EXPECT_EQ(count<SubmitJob>(), 0u);
  ASSERT_EQ(core.leases().size(), 1u);
  EXPECT_EQ(core.leases()[0].lease, lease(50));
}

// A new kernel got it, and its task waited for ever behind one of a kernel that was gone. (Seed 5020895)
TEST_F(ReconcileTest, ALeaseThatOnlyTheJournalCallsQueuedGoesToNobodyElseBeforeSlurmSaysSo) {
  JournalRecord adopted = intent(50);
  adopted.session = {};
  tell(JournalRead{{adopted, submitted(50)}});
  open(2);
  demand(1, 0, one_gpu(), 2);
  for (const LeaseView& one : core.leases()) EXPECT_TRUE(one.lease != lease(50) || !one.owner);
  tell(ReconcileDone{std::vector{view(JobState::kQueued, JobEnd::kNone, job(7), 50)}});
  ASSERT_EQ(core.leases().size(), 1u);
  ASSERT_TRUE(core.leases()[0].owner) << "nothing can run there: it waits";
  EXPECT_EQ(core.leases()[0].owner->session, session(2));
}

TEST_F(ReconcileTest, AQueuedJobOfOneCpuIsAdoptedByItsRequestAndKeepsItsPlace) {
  Resources one_cpu = one_gpu();
  one_cpu.cpus = 1;
  tell(JournalRead{});
  open();
  demand(1, 0, one_cpu);
  tell(ReconcileDone{std::vector{view(JobState::kQueued, JobEnd::kNone, job(7), 50)}});  // Slurm shows no CPUs of it
  EXPECT_EQ(count<SubmitJob>() + count<CancelJob>(), 0u);
  ASSERT_EQ(core.leases().size(), 1u);
  EXPECT_EQ(core.leases()[0].lease, lease(50));
}

TEST_F(ReconcileTest, AHolderIsToldHowItsLeaseEndedMeanwhile) {
  start({}, {view(JobState::kEnded, JobEnd::kTimeout)});
  open();
  claim(0, 1);
  ASSERT_EQ(count<TellLeaseEnded>(), 1u);
  EXPECT_EQ(only<TellLeaseEnded>()[0].error.cause, (Cause{.code = CauseCode::kJobTimeLimit, .job = 7}));
  EXPECT_TRUE(core.leases().empty());
}

TEST_F(ReconcileTest, AHolderOfALeaseOfWhichNothingIsKnownIsToldThat) {
  start({}, {});
  open();
  claim(0, 1);
  ASSERT_EQ(count<TellLeaseEnded>(), 1u);
  EXPECT_EQ(only<TellLeaseEnded>()[0].error.cause.code, CauseCode::kEndedUnseen);
}

// It kept the lease for ever: what it had said before Slurm was asked was not looked at again.
TEST_F(ReconcileTest, AHolderWhoSpokeBeforeTheFirstReconciliationIsToldOfTheEndAfterIt) {
  tell(JournalRead{});
  open();
  claim(0, 1);
  ASSERT_EQ(count<TellLeaseEnded>(), 0u);

  tell(ReconcileDone{std::vector{view(JobState::kEnded, JobEnd::kTimeout)}});

  ASSERT_EQ(count<TellLeaseEnded>(), 1u);
  EXPECT_EQ(only<TellLeaseEnded>()[0].error.cause, (Cause{.code = CauseCode::kJobTimeLimit, .job = 7}));
}

TEST_F(ReconcileTest, AJobThatRunsAgainAfterItsLeaseEndedUnseenIsCancelled) {
  start({}, {view(JobState::kEnded, JobEnd::kTimeout, job(7), 60)});
  open();
  demand(1);
  tell(Submitted{lease(1), job(8)});
  reconciled_jobs(
      {view(JobState::kQueued, JobEnd::kNone, job(8)), view(JobState::kRunning, JobEnd::kNone, job(7, 1), 60)});
  ASSERT_EQ(count<CancelJob>(), 1u);
  EXPECT_EQ(only<CancelJob>()[0].job, job(7, 1));
}

TEST_F(ReconcileTest, TheHolderComesBeforeOthersThatCouldUseIt) {
  tell(JournalRead{});
  open(1);
  demand(1, 0, one_gpu(), 1);
  open(2);
  claim(1, 0, 2, {lease(50)});
  tell(ReconcileDone{std::vector{view(JobState::kQueued, JobEnd::kNone, job(7), 50)}});
  for (const LeaseView& one : core.leases()) EXPECT_EQ(one.lease == lease(50), one.owner->session == session(2));
}

// It came back after a restart of pounced later than somebody else, whose lease this is by now.
TEST_F(ReconcileTest, AFormerHolderIsToldOfTheEndOfALeaseThatAnotherHasTakenOver) {
  given_a_lease_of_another_that_session_1_holds();
  tell(WorkerLost{lease(1), WorkerIndex{0}, link, true});
  polled(view(JobState::kEnded, JobEnd::kTimeout));
  ASSERT_EQ(count<TellLeaseEnded>(), 2u);
  std::set<SessionId> told;
  for (const TellLeaseEnded& one : only<TellLeaseEnded>()) told.insert(one.session);
  EXPECT_EQ(told, (std::set{session(1), session(2)}));
}

TEST_F(ReconcileTest, AFormerHolderIsToldOfADeathOnALeaseThatAnotherHasTakenOver) {
  given_a_lease_of_another_that_session_1_holds();
  tell(InterpreterDied{lease(1), WorkerIndex{0}, link, Epoch{2}, trouble(ErrorCode::kWorkerCrashed), true});
  EXPECT_EQ(count<TellWorkerDown>(), 2u);
}

TEST_F(ReconcileTest, WhoHasBeenToldOfAnEndIsNotToldAgain) {
  given_busy();
  tell(DemandChanged{session(1), {{RequestId{1}, one_gpu(), 0, 1, {lease(1)}}}});
  tell(WorkerLost{lease(1), WorkerIndex{0}, link, true});
  polled(view(JobState::kEnding, JobEnd::kTimeout));
  ASSERT_EQ(count<TellLeaseEnded>(), 1u);
  polled(view(JobState::kEnded, JobEnd::kTimeout));
  EXPECT_EQ(count<TellLeaseEnded>(), 0u);
}

TEST_F(ReconcileTest, AnAdoptedIdleLeaseIsGivenToARequestWithEqualResources) {
  start({}, {view(JobState::kRunning)});
  tell(connected());
  tell(InterpreterStarted{lease(1), WorkerIndex{0}, link, Epoch{2}});
  tell(WorkerSeen{lease(1), WorkerIndex{0}, link, 0});
  open();
  demand(1);
  EXPECT_EQ(count<GrantWorker>(), 1u);
  EXPECT_EQ(count<SubmitJob>(), 0u);
}

// It may run a task of a kernel that is gone: the next task would wait behind that, and nobody would ever end it.
TEST_F(ReconcileTest, AnAdoptedLeaseWhoseWorkerHasNotSaidWhatItRunsIsGivenToNobody) {
  start({}, {view(JobState::kRunning)});
  tell(connected());
  tell(InterpreterStarted{lease(1), WorkerIndex{0}, link, Epoch{2}});
  open();
  demand(1);
  EXPECT_EQ(count<GrantWorker>(), 0u);
  EXPECT_EQ(count<SubmitJob>(), 1u);
}

TEST_F(ReconcileTest, AnAdoptedLeaseIsNotGivenToARequestWithOtherResources) {
  start({}, {view(JobState::kRunning)});
  open();
  demand(1, 0, resources("cheetah", 2));
  EXPECT_EQ(count<SubmitJob>(), 1u);
}

TEST_F(ReconcileTest, ABusyAdoptedLeaseIsNotGivenToAStranger) {
  start({}, {view(JobState::kRunning)});
  tell(connected());
  tell(InterpreterStarted{lease(1), WorkerIndex{0}, link, Epoch{2}});
  tell(WorkerSeen{lease(1), WorkerIndex{0}, link, 1});
  open();
  demand(1);
  EXPECT_EQ(count<SubmitJob>(), 1u);
}

TEST_F(ReconcileTest, AnAdoptedLeaseThatNobodyClaimsIsEnded) {
  start({}, {view(JobState::kQueued)});
  advance(29s);
  EXPECT_EQ(count<CancelJob>(), 0u);
  advance(1s);
  EXPECT_EQ(count<CancelJob>(), 1u);
}

TEST_F(ReconcileTest, AnAdoptedIdleLeaseThatNobodyClaimsIsEndedAfterTheIdleTime) {
  start({}, {view(JobState::kRunning)});
  tell(connected());
  tell(InterpreterStarted{lease(1), WorkerIndex{0}, link, Epoch{2}});
  advance(59s);
  EXPECT_EQ(count<EndWorker>(), 0u);
  advance(1s);
  EXPECT_EQ(count<EndWorker>() + count<CancelJob>(), 1u);
}

TEST_F(ReconcileTest, AJobOfALeaseThatTheJournalEndedIsCancelled) {
  start({intent(), submitted(), ended()}, {view(JobState::kRunning)});
  EXPECT_EQ(count<CancelJob>(), 1u);
}

TEST_F(ReconcileTest, TheJournalsNewerLeaseOfARequestIsItsLease) {
  start({intent(1), submitted(1), intent(2)}, {view(JobState::kRunning)});
  open();
  demand(1);
  ASSERT_EQ(core.leases().size(), 2u);
  EXPECT_FALSE(core.leases()[0].owner);
  EXPECT_TRUE(core.leases()[1].owner);
}

TEST_F(ReconcileTest, TheJournalASecondTimeIsIgnored) {
  start();
  tell(JournalRead{{intent()}});
  EXPECT_TRUE(core.leases().empty());
}

TEST_F(ReconcileTest, AFailedFirstReconcileIsTriedAgainAndNothingIsSubmittedMeanwhile) {
  tell(JournalRead{});
  tell(ReconcileDone{tl::unexpected(trouble(ErrorCode::kSlurmUnreachable))});
  open();
  demand(1);
  EXPECT_EQ(count<SubmitJob>(), 0u);
  reconciled_jobs({});
  EXPECT_EQ(count<SubmitJob>(), 1u);
}

TEST_F(ReconcileTest, ReconcilesEachMinuteWhileALeaseLivesAndNotWithoutOne) {
  given_busy();
  demand(0);
  advance_alive(120s, 1);
  EXPECT_EQ(count<ReconcileJobs>(), 1u);
  tell(ReconcileDone{std::vector{view(JobState::kEnded, JobEnd::kTimeout)}});
  for (int minute = 0; minute < 10; ++minute) {
    advance(20s);
    EXPECT_EQ(count<ReconcileJobs>(), 0u);
    tell(SessionSeen{session(1)});
  }
}

}  // namespace
}  // namespace pounce::lease
