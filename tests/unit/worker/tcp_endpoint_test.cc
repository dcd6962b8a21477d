#include <gtest/gtest.h>

#include "worker/supervisor/supervisor_options.h"

namespace pounce::worker {
namespace {

TEST(TcpEndpointTest, NamesTheHost) {
  EXPECT_EQ(host_of("tcp://10.77.0.254:5555"), "10.77.0.254");
  EXPECT_EQ(host_of("tcp://login.example:1"), "login.example");
  EXPECT_EQ(host_of("tcp://[fd00::1]:5555"), "fd00::1");
}

TEST(TcpEndpointTest, FindsNoHostInAnythingElse) {
  EXPECT_EQ(host_of("ipc:///run/pounce/handshake"), "");
  EXPECT_EQ(host_of("tcp://"), "");
  EXPECT_EQ(host_of("tcp://:1"), "");
  EXPECT_EQ(host_of(""), "");
}

}  // namespace
}  // namespace pounce::worker
