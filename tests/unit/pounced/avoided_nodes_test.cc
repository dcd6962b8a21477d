// Which nodes are asked for no lease, for how long, and how that is shown.
#include <gmock/gmock.h>

#include "pounced/leases/nodes.h"

namespace pounce::daemon {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

const TimePoint kNow = Clock::now();
const Error kFailed{ErrorCode::kDeviceFailed, "the GPU GPU-a failed", {}, {}};

protocol::WorkerGpus told(LeaseId lease, std::uint32_t worker, const std::string& node, const std::string& uuid) {
  protocol::WorkerGpus gpus{lease, {worker}, node, {{}}, "no", {}};
  gpus.gpus.front().uuid = uuid;
  return gpus;
}

TEST(AvoidedNodesTest, AreAvoidedForAWhile) {
  AvoidedNodes avoided;
  avoided.hear("g1", kFailed, kNow + 10min);
  avoided.hear("g2", {ErrorCode::kDeviceUnavailable, "not the lease's", {}, {}}, kNow + 20min);

  EXPECT_THAT(avoided.names(kNow), ElementsAre("g1", "g2"));
  EXPECT_THAT(avoided.names(kNow + 10min), ElementsAre("g2"));
  EXPECT_THAT(avoided.names(kNow + 20min), IsEmpty());
  EXPECT_EQ(avoided.at(kNow).at("g1").why, "the GPU GPU-a failed");
}

TEST(AvoidedNodesTest, WhatIsNoNodesFaultIsHeldAgainstNone) {
  AvoidedNodes avoided;
  avoided.hear("g1", {ErrorCode::kWorkerCrashed, "it died", {}, {}}, kNow + 10min);
  EXPECT_THAT(avoided.names(kNow), IsEmpty());
}

TEST(AvoidedNodesTest, AWorkersWordDoesNotGetIntoARequestUnlessItIsAName) {
  AvoidedNodes avoided;
  for (const char* node : {"", "g[1-100]", "g1,g2", "g1 --gres=gpu:8", "g1\n"})
    avoided.hear(node, kFailed, kNow + 10min);
  EXPECT_THAT(avoided.names(kNow), IsEmpty());
}

TEST(AvoidedNodesTest, AreBounded) {
  AvoidedNodes avoided;
  for (std::size_t n = 0; n <= AvoidedNodes::kMost; ++n) avoided.hear("g" + std::to_string(n), kFailed, kNow + 10min);
  EXPECT_EQ(avoided.names(kNow).size(), AvoidedNodes::kMost);
}

TEST(NodeRowsTest, PutTheLeasesOfANodeTogether) {
  UtilisationLog uses;
  const LeaseId one = *LeaseId::from_hex("3f2a91bc00000001"), other = *LeaseId::from_hex("3f2a91bc00000002");
  for (const LeaseId& lease : {one, other}) {
    lease::LeaseView view;
    view.lease = lease;
    uses.up(view);
  }
  uses.gpus(told(one, 0, "g1", "GPU-a"));
  uses.gpus(told(one, 1, "g1", "GPU-b"));
  uses.gpus(told(other, 0, "g1", "GPU-c"));
  uses.gpus(told(*LeaseId::from_hex("3f2a91bc00000003"), 0, "g9", "GPU-of-no-lease"));

  const auto rows = node_rows(uses, {}, kNow);

  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows.front().node, "g1");
  EXPECT_EQ(rows.front().leases, 2u);
  EXPECT_EQ(rows.front().gpus.size(), 3u);
}

TEST(NodeRowsTest, ShowAnAvoidedNodeThatHasNoLeaseAnyMore) {
  AvoidedNodes avoided;
  avoided.hear("g1", kFailed, kNow + 10min);

  const auto rows = node_rows({}, avoided, kNow);

  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows.front().leases, 0u);
  EXPECT_GT(rows.front().avoided_until_s, 0);
  EXPECT_EQ(rows.front().trouble, "the GPU GPU-a failed");
}

}  // namespace
}  // namespace pounce::daemon
