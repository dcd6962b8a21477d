// What an endpoint file makes known of a daemon.
#include <gtest/gtest.h>

#include "control/control_connection.h"
#include "identity/proof.h"
#include "transport/zmq_context.h"

namespace pounce::control {
namespace {

protocol::EndpointFile file_of_a_daemon() {
  protocol::EndpointFile file;
  file.key = transport::to_z85(identity::make_key_pair().public_key);
  file.handshake = {"ipc:///run/handshake", "tcp://10.0.0.1:5555"};
  file.proof = "key_file";
  file.key_file = "/home/alice/key";
  return file;
}

TEST(DaemonAddressTest, OnThisMachineIsAUnixSocketThatNeedsNoProof) {
  const auto address = address_of(file_of_a_daemon(), Reach::kThisMachine);
  ASSERT_TRUE(address);
  EXPECT_EQ(address->endpoint, "ipc:///run/handshake");
  EXPECT_EQ(address->proof, protocol::Proof::kPeer);
}

TEST(DaemonAddressTest, InTheNetworkIsATcpSocketWithAProof) {
  auto file = file_of_a_daemon();
  EXPECT_EQ(address_of(file, Reach::kNetwork)->endpoint, "tcp://10.0.0.1:5555");
  EXPECT_EQ(address_of(file, Reach::kNetwork)->proof, protocol::Proof::kKeyFile);
  file.proof = "munge";
  EXPECT_EQ(address_of(file, Reach::kNetwork)->proof, protocol::Proof::kMunge);
}

TEST(DaemonAddressTest, IsNoneWithoutAKeyOrAnEndpointWithinReach) {
  auto file = file_of_a_daemon();
  file.handshake.pop_back();
  EXPECT_FALSE(address_of(file, Reach::kNetwork));
  EXPECT_TRUE(address_of(file, Reach::kThisMachine));
  file.key = "short";
  EXPECT_FALSE(address_of(file, Reach::kThisMachine));
}

}  // namespace
}  // namespace pounce::control
