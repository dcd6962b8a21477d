// What leases used: while they live, in their jobs' comments, and in the record of those that ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pounced/leases/lease_logs.h"
#include "scratch_folder.h"

namespace pounce::daemon {
namespace {

using namespace std::chrono_literals;

const LeaseId kLease = *LeaseId::from_hex("3f2a91bc00000001");
const InstanceId kInstance = *InstanceId::from_hex("466d2258eaa0");
constexpr TimePoint kNow{};

lease::LeaseView lease_view() {
  lease::LeaseView view;
  view.lease = kLease;
  view.resources.gpus = 1, view.resources.memory_mib = 4096, view.resources.workers = 2;
  view.job = JobIdentity{{44}, 1000, 0};
  view.node = "g1";
  return view;
}

protocol::WorkerBeat beat(std::uint32_t worker, std::uint32_t running, std::int64_t busy_ms, std::int64_t idle_ms) {
  return {kLease, {worker}, running, false, {busy_ms, idle_ms, 1000, 300 + worker}};
}

class UsageLogTest : public ::testing::Test {
 protected:
  UsageLogTest() {
    log_.open(folder_.path() + "/usage", "cheetah");
    log_.up(lease_view());
  }
  ScratchFolder folder_;
  UtilisationLog log_;
};

TEST_F(UsageLogTest, KnowsNothingOfALeaseWhoseWorkersHaveNotTold) {
  EXPECT_EQ(log_.of(kLease), nullptr);
  EXPECT_EQ(log_.note(kInstance, kLease, kNow), std::nullopt);
  log_.beat(beat(0, 1, 0, 0), kNow);  // of an older pounce
  EXPECT_EQ(log_.of(kLease), nullptr);
}

TEST_F(UsageLogTest, PutsTheWorkersTogether) {
  log_.beat(beat(0, 0, 8000, 2000), kNow);
  log_.beat(beat(1, 0, 4000, 6000), kNow);
  const LeaseUtilisation* use = log_.of(kLease);
  ASSERT_NE(use, nullptr);
  EXPECT_EQ(use->figures(), (model::JobFigures{6000, 4000, 2000, 301}));
}

TEST_F(UsageLogTest, HasWhatTheFirstWorkerThatTellsSomethingReported) {
  protocol::WorkerBeat second = beat(1, 1, 10, 10), third = beat(2, 1, 10, 10);
  second.reported.status = "epoch 3", third.reported.status = "epoch 4";
  for (const protocol::WorkerBeat& one : {beat(0, 1, 10, 10), third, second}) log_.beat(one, kNow);
  EXPECT_EQ(log_.of(kLease)->reported().status, "epoch 3");

  second.reported.numbers["loss"] = std::string(model::Reported::kMostBytes, '9');
  log_.beat(second, kNow);
  EXPECT_EQ(log_.of(kLease)->reported().status, "epoch 4");
}

TEST_F(UsageLogTest, PutsTogetherWhatTheWorkersUseAtTheMoment) {
  protocol::WorkerBeat first = beat(0, 1, 10, 10), second = beat(1, 1, 10, 10), without_driver = beat(2, 1, 10, 10);
  first.now = {250, 100, 90, 4000}, second.now = {50, 300, 70, 3000}, without_driver.now = {100, 200, -1, 0};
  for (const protocol::WorkerBeat& one : {first, second, without_driver}) log_.beat(one, kNow);
  EXPECT_EQ(log_.of(kLease)->now(), (model::UseNow{400, 300, 80, 4000}));
}

TEST_F(UsageLogTest, TakesOfGpusWhatThoseWorkersTellWhoseDriverDoes) {
  log_.beat(beat(0, 0, 8000, 2000), kNow);
  EXPECT_EQ(log_.of(kLease)->figures().gpu_percent, -1);
  protocol::WorkerBeat other = beat(1, 0, 4000, 6000);
  other.job.gpu_percent = 71, other.job.gpu_memory_peak_mib = 3072, other.job.gpu_memory_total_mib = 81920;
  log_.beat(other, kNow);
  const model::JobFigures figures = log_.of(kLease)->figures();
  EXPECT_EQ(figures.gpu_percent, 71);
  EXPECT_EQ(figures.gpu_memory_peak_mib, 3072u);
  EXPECT_EQ(figures.gpu_memory_total_mib, 81920u);
}

TEST_F(UsageLogTest, NotesTheTimeSinceTheLastBeatAsWhatItWasThen) {
  log_.beat(beat(0, 0, 8000, 2000), kNow);
  EXPECT_EQ(log_.note(kInstance, kLease, kNow + 3s), "pounce:1:466d2258eaa0:3f2a91bc00000001 busy=8s idle=5s");
  log_.beat(beat(0, 1, 8000, 2000), kNow);
  EXPECT_EQ(log_.note(kInstance, kLease, kNow + 3s), "pounce:1:466d2258eaa0:3f2a91bc00000001 busy=11s idle=2s");
}

TEST_F(UsageLogTest, KnowsFromTheFirstWordOnThatANotebookHeldTheLease) {
  EXPECT_FALSE(log_.beat(beat(0, 0, 8000, 2000), kNow));
  protocol::WorkerBeat held = beat(0, 1, 8000, 2000);
  held.state = NamespaceState::kSaving, held.job.held = true;
  EXPECT_TRUE(log_.beat(held, kNow));
  EXPECT_FALSE(log_.beat(held, kNow));
  EXPECT_FALSE(log_.beat(beat(1, 0, 8000, 2000), kNow));  // the other worker of the lease
  EXPECT_EQ(log_.note(kInstance, kLease, kNow), "pounce:1:466d2258eaa0:3f2a91bc00000001 held busy=8s idle=2s");
  log_.ended(kLease, ErrorCode::kLeaseEnded, Cause{CauseCode::kIdle}, 1800);
  EXPECT_TRUE(log_.recent().front().used.figures.held);
}

TEST_F(UsageLogTest, WritesALineOfALeaseThatEnded) {
  log_.beat(beat(0, 0, 8000, 2000), kNow);
  log_.ended(kLease, ErrorCode::kWalltimeReached, Cause{CauseCode::kJobTimeLimit}, 1800);
  EXPECT_EQ(log_.of(kLease), nullptr);
  UtilisationLog next;
  next.open(folder_.path() + "/usage", "");
  ASSERT_EQ(next.recent().size(), 1u);
  const model::EndedLease& one = next.recent().front();
  EXPECT_EQ(one.resources.class_name, "cheetah");  // it asked for none
  EXPECT_EQ(one.job, 44u);
  EXPECT_EQ(one.used.figures.busy_ms, 8000);
  EXPECT_EQ(one.end_s, 1800);
  EXPECT_EQ(one.code, ErrorCode::kWalltimeReached);
  EXPECT_EQ(one.cause.code, CauseCode::kJobTimeLimit);
}

TEST_F(UsageLogTest, WritesNothingOfALeaseThatNeverWorked) {
  log_.ended(kLease, ErrorCode::kLeaseEnded, Cause{CauseCode::kCancelled}, 1800);
  EXPECT_TRUE(log_.recent().empty());
}

}  // namespace
}  // namespace pounce::daemon
