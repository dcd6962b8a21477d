// What tells this program from contract_lanes: the same cases run in both, and here no road can be a lane.
#include <gtest/gtest.h>

#include "bulk/lane.h"
#include "tls/stream.h"

namespace pounce::lanes {
namespace {

TEST(NoLaneTest, ABuildWithoutOpenSslOffersNone) {
  EXPECT_FALSE(bulk::Lane::available());
  EXPECT_EQ(tls::library_version(), "");
}

}  // namespace
}  // namespace pounce::lanes
