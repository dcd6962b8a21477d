// Demand that comes and goes, and leases that are given back.
#include "core/lease/rules.h"
#include "unit/core/lease/lease_world.h"

namespace pounce::lease {
namespace {

class DemandTest : public LeaseTest {};

TEST_F(DemandTest, APendingLeaseWhoseDemandVanishedIsCancelledAtOnce) {
  given_queued();
  demand(0);
  ASSERT_EQ(count<CancelJob>(), 1u);
  EXPECT_EQ(only<CancelJob>()[0].job, job(7));
  EXPECT_EQ(count<TellLeaseEnded>(), 1u);
}

TEST_F(DemandTest, ARequestThatIsNotListedAnyMoreHasNoDemand) {
  given_queued();
  tell(DemandChanged{session(1), {}});
  EXPECT_EQ(count<CancelJob>(), 1u);
}

TEST_F(DemandTest, AnIdleLeaseIsGivenBackAfterTheIdleTime) {
  given_idle();
  advance_alive(59s);
  EXPECT_EQ(count<EndWorker>(), 0u);
  advance_alive(2s);
  ASSERT_EQ(count<EndWorker>(), 1u);
  EXPECT_TRUE(only<EndWorker>()[0].only_if_idle);
  EXPECT_EQ(state(), LeaseState::kDraining);
}

TEST_F(DemandTest, KeepWarmAddsToTheIdleTime) {
  defaults.keep_warm = 300s;
  LeaseCore warm(our_instance(), defaults, [this] { return lease(++leases_made); });
  const auto at = [&](const Event& event) { return warm.handle(event, now); };
  at(JournalRead{});
  at(ReconcileDone{std::vector<JobView>{}});
  at(DemandChanged{session(1), {{RequestId{1}, one_gpu(), 1, 0, {}}}});
  at(Submitted{lease(1), job(7)});
  at(connected());
  at(InterpreterStarted{lease(1), WorkerIndex{0}, link, Epoch{1}});
  at(DemandChanged{session(1), {}});
  for (int second = 0; second < 359; ++second) {
    now += 1s;
    at(SessionSeen{session(1)});
    at(WorkerSeen{lease(1), WorkerIndex{0}, link, 0});
  }
  EXPECT_EQ(warm.leases()[0].state, LeaseState::kIdle);
  now += 1s;
  at(TimePassed{});
  EXPECT_EQ(warm.leases()[0].state, LeaseState::kDraining);
}

TEST_F(DemandTest, ATaskThatTheClientCountsKeepsTheLease) {
  given_busy();
  demand(0, 1);
  advance_alive(300s);
  EXPECT_EQ(state(), LeaseState::kBusy);
}

TEST_F(DemandTest, ATaskThatOnlyTheWorkerCountsKeepsTheLease) {
  given_idle();
  advance_alive(300s, 1);
  EXPECT_EQ(state(), LeaseState::kBusy);
  EXPECT_EQ(count<EndWorker>(), 0u);
}

TEST_F(DemandTest, TheIdleTimeBeginsAnewAfterEachTask) {
  given_idle();
  advance_alive(50s);
  demand(1);
  demand(0);
  advance_alive(50s);
  EXPECT_EQ(state(), LeaseState::kIdle);
}

TEST_F(DemandTest, NewDemandOnAnIdleLeaseNeedsNoJob) {
  given_idle();
  demand(1);
  EXPECT_EQ(count<SubmitJob>(), 0u);
  EXPECT_EQ(state(), LeaseState::kBusy);
}

TEST_F(DemandTest, AWorkerThatJustGotATaskRefusesItsEndAndServesOn) {
  given_draining();
  tell(WorkerSeen{lease(1), WorkerIndex{0}, link, 1});
  EXPECT_EQ(state(), LeaseState::kBusy);
  EXPECT_EQ(count<TellLeaseEnded>(), 0u);
}

TEST_F(DemandTest, DemandDuringADrainGetsANewJobWhenTheWorkerHasGone) {
  given_draining();
  demand(1);
  EXPECT_EQ(count<SubmitJob>(), 0u);
  tell(WorkerLost{lease(1), WorkerIndex{0}, link});
  EXPECT_EQ(count<TellLeaseEnded>(), 1u);
  ASSERT_EQ(count<SubmitJob>(), 1u);
  EXPECT_EQ(only<SubmitJob>()[0].lease, lease(2));
}

TEST_F(DemandTest, ARequestThatChangesItsResourcesGivesItsLeaseBack) {
  given_queued();
  demand(1, 0, resources("lion", 2));
  EXPECT_EQ(count<CancelJob>(), 1u);
  ASSERT_EQ(count<SubmitJob>(), 1u);
  EXPECT_EQ(only<SubmitJob>()[0].resources.class_name, "lion");
}

TEST_F(DemandTest, AStartingLeaseWhoseDemandVanishedIsKeptForTheIdleTime) {
  given_starting();
  demand(0);
  EXPECT_EQ(count<CancelJob>() + count<EndWorker>(), 0u);
  advance_alive(61s);
  EXPECT_EQ(count<EndWorker>(), 1u);
}

// ---- which job can serve which request ----------------------------------------------------------------------------

Resources wish(std::uint32_t gpus, std::string type = {}, std::uint32_t cpus = 0) {
  Resources resources;
  resources.class_name = "cheetah";
  resources.gpus = gpus;
  resources.gpu_type = std::move(type);
  resources.cpus = cpus;
  return resources;
}

TEST(CoversTest, WhatARequestDoesNotSayMayBeAnything) {
  EXPECT_TRUE(covers(wish(1, "a100", 8), wish(1)));
  EXPECT_FALSE(covers(wish(1), wish(1, "a100")));
}

TEST(CoversTest, WhatIsNotKnownOfAnAdoptedJobIsNotTakenForGranted) {
  const Resources plain = wish(1);
  for (auto change :
       {+[](Resources& request) { request.gpu_memory_mib = 40'960; },
        +[](Resources& request) { request.cuda = 12'000; }, +[](Resources& request) { request.account = "bio"; },
        +[](Resources& request) { request.not_nodes = "g1"; },
        +[](Resources& request) { request.reservation = "course"; },
        +[](Resources& request) { request.slurm = {{"constraint", "nvlink"}}; },
        +[](Resources& request) { request.placement = Placement::kSpread; },
        +[](Resources& request) { request.nice = 100; }}) {
    Resources request = plain;
    change(request);
    EXPECT_FALSE(covers(plain, request));
  }
}

// Else a request for one CPU does not get its own queued job back after a restart without a journal.
TEST(CoversTest, EveryJobHasOneCpu) {
  EXPECT_TRUE(covers(wish(1), wish(1, {}, 1)));
  EXPECT_FALSE(covers(wish(1), wish(1, {}, 2)));
}

TEST(CoversTest, GpusMustBeEqualAlsoWhenNoneIsAsked) {
  EXPECT_FALSE(covers(wish(1), wish(0)));
  EXPECT_FALSE(covers(wish(1), wish(2)));
}

}  // namespace
}  // namespace pounce::lease
