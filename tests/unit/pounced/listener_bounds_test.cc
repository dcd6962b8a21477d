// Strangers never get the descriptors that pounced itself needs.
#include <gtest/gtest.h>

#include "pounced/net/bounded_listener.h"
#include "pounced/net/peers.h"

namespace pounce::daemon {
namespace {

constexpr std::size_t kDescriptorsEach = 3, kOwn = 192;

TEST(ListenerBoundsTest, LeaveDescriptorsForTheDaemonItselfUnderEveryLimit) {
  for (const std::size_t limit : {256, 512, 1024, 4096, 65536, 1'000'000}) {
    const std::size_t held = handshake_bounds(limit).connections + control_bounds(limit).connections;
    EXPECT_LE(held * kDescriptorsEach + kOwn, limit) << limit;
  }
}

TEST(ListenerBoundsTest, HaveRoomForEveryPeerUnderTheUsualLimit) {
  const ListenerBounds control = control_bounds(65536);
  EXPECT_EQ(control.connections - control.newcomers, Peers::kMost);
}

TEST(ListenerBoundsTest, LetSomebodyInUnderAnyLimit) {
  for (const ListenerBounds& bounds : {handshake_bounds(0), control_bounds(0)}) {
    EXPECT_GT(bounds.newcomers, 0u);
    EXPECT_GE(bounds.connections, bounds.newcomers);
  }
}

TEST(ListenerBoundsTest, KeepWhatStrangersMaySendSmall) {
  const std::size_t newcomers = handshake_bounds(65536).newcomers + control_bounds(65536).newcomers;
  EXPECT_LE(newcomers * kNewcomerBytes, std::size_t{16} << 20);
}

}  // namespace
}  // namespace pounce::daemon
