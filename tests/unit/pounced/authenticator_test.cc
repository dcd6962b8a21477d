// Who gets through the handshake endpoint, decided without a socket.
#include <gtest/gtest.h>

#include "identity/proof.h"
#include "pounced/net/handshake.h"
#include "protocol/codec.h"
#include "transport/zmq_context.h"

namespace pounce::daemon {
namespace {

using namespace std::chrono_literals;
using protocol::Hello;
using protocol::Proof;
using protocol::Role;

constexpr unsigned kUid = 1001, kMallory = 1003;

class AuthenticatorTest : public testing::Test {
 protected:
  Hello client() const {
    Hello hello;
    hello.key = transport::to_z85(theirs.public_key);
    hello.session = "000102030405060708090a0b0c0d0e0f";
    return hello;
  }
  Hello worker() const {
    Hello hello;
    hello.role = Role::kWorker;
    hello.proof = Proof::kMunge;
    hello.key = transport::to_z85(theirs.public_key);
    hello.lease = "0102030405060708";
    return hello;
  }
  Verdict say(const protocol::Header& header, std::optional<unsigned> uid, const std::string& proof = "") {
    const std::string bytes = protocol::encode(header);
    return authenticator.judge({theirs.public_key, uid, {bytes, proof}}, now);
  }
  static ErrorCode refused(const Verdict& verdict) {
    const auto* error = std::get_if<Error>(&verdict);
    EXPECT_NE(error, nullptr);
    return error != nullptr ? error->code : ErrorCode::kInternal;
  }

  const KeyPair own = identity::make_key_pair(), theirs = identity::make_key_pair();
  TimePoint now{1h};
  Authenticator authenticator{own.public_key, Proof::kMunge, kUid};
};

TEST_F(AuthenticatorTest, AdmitsAClientForWhichTheKernelVouches) {
  const Verdict verdict = say(client(), kUid);
  const auto* peer = std::get_if<Peer>(&verdict);
  ASSERT_NE(peer, nullptr);
  EXPECT_EQ(peer->role, Role::kClient);
  EXPECT_EQ(peer->key, theirs.public_key);
  EXPECT_EQ(peer->session.hex(), client().session);
}

TEST_F(AuthenticatorTest, RefusesAPeerOfAnotherUser) {
  EXPECT_EQ(refused(say(client(), kMallory)), ErrorCode::kNotAuthenticated);
  EXPECT_EQ(refused(say(client(), 0)), ErrorCode::kNotAuthenticated);
}

TEST_F(AuthenticatorTest, DoesNotBelieveAPeerOverTheNetworkWithoutProof) {
  EXPECT_EQ(refused(say(client(), std::nullopt)), ErrorCode::kNotAuthenticated);
}

TEST_F(AuthenticatorTest, HasAWorkersProofCheckedForExactlyItsClaim) {
  const Verdict verdict = say(worker(), std::nullopt, "credential");
  const auto* question = std::get_if<ProofToCheck>(&verdict);
  ASSERT_NE(question, nullptr);
  EXPECT_EQ(question->claim.audience, own.public_key);
  EXPECT_EQ(question->claim.own, theirs.public_key);
  EXPECT_EQ(question->claim.role, "worker");
  EXPECT_EQ(question->claim.subject, worker().lease);
  EXPECT_EQ(question->proof, "credential");
  EXPECT_EQ(question->peer.lease.hex(), worker().lease);
}

TEST_F(AuthenticatorTest, RefusesAKeyThatIsNotTheConnections) {
  Hello hello = client();
  hello.key = transport::to_z85(own.public_key);
  EXPECT_EQ(refused(say(hello, kUid)), ErrorCode::kNotAuthenticated);
  hello.key = "not a key";
  EXPECT_EQ(refused(say(hello, kUid)), ErrorCode::kNotAuthenticated);
}

TEST_F(AuthenticatorTest, RefusesAKindOfProofThatWasNotAnnounced) {
  Hello hello = worker();
  hello.proof = Proof::kKeyFile;
  EXPECT_EQ(refused(say(hello, std::nullopt, "x")), ErrorCode::kNotAuthenticated);
}

TEST_F(AuthenticatorTest, RefusesAHelloWithoutSubject) {
  Hello no_session = client(), no_lease = worker(), zero = worker();
  no_session.session = "";
  no_lease.lease = "xyz";
  zero.lease = "0000000000000000";
  for (const Hello& hello : {no_session, no_lease, zero}) EXPECT_EQ(refused(say(hello, kUid)), ErrorCode::kProtocol);
}

TEST_F(AuthenticatorTest, UnderstandsNothingButHello) {
  EXPECT_EQ(refused(say(protocol::StatusAsk{1}, kUid)), ErrorCode::kProtocol);
}

TEST_F(AuthenticatorTest, CountsAndMeasuresBeforeItParses) {
  const std::string garbage = "{", huge(9000, 'x');
  const auto judge = [&](std::vector<std::string_view> frames) {
    return refused(authenticator.judge({theirs.public_key, kUid, std::move(frames)}, now));
  };
  EXPECT_EQ(judge({}), ErrorCode::kProtocol);
  EXPECT_EQ(judge({garbage, garbage, garbage}), ErrorCode::kProtocol);
  EXPECT_EQ(judge({garbage, huge}), ErrorCode::kTooLarge);
  EXPECT_EQ(judge({garbage, ""}), ErrorCode::kProtocol);
}

TEST_F(AuthenticatorTest, TurnsAFloodAwayAndRecovers) {
  int admitted = 0;
  for (int i = 0; i < 1000; ++i) admitted += std::holds_alternative<Peer>(say(client(), kUid));
  EXPECT_EQ(admitted, 400);
  now += 1s;
  EXPECT_TRUE(std::holds_alternative<Peer>(say(client(), kUid)));
}

TEST(PeersTest, ForgetAClientsOlderKeyForTheSameSession) {
  Peers peers;
  Peer peer;
  peer.session = *SessionId::from_hex("000102030405060708090a0b0c0d0e0f");
  peer.key.bytes[0] = 1;
  peers.admit(peer, TimePoint());
  const PublicKey older = peer.key;
  peer.key.bytes[0] = 2;
  peers.admit(peer, TimePoint());
  EXPECT_FALSE(peers.admits(older));
  EXPECT_EQ(peers.client(peer.session)->key, peer.key);
}

TEST(PeersTest, AcceptOneJobIdentityPerLeaseAndWorkerIndex) {
  Peers peers;
  Peer peer;
  peer.role = Role::kWorker;
  peer.lease = *LeaseId::from_hex("0102030405060708");
  peer.route = "one";
  peer.key.bytes[0] = 1;
  peers.admit(peer, TimePoint());
  const PublicKey older = peer.key;
  peer.key.bytes[0] = 2;
  peers.admit(peer, TimePoint());
  peers.only_worker(*peers.find(peer.key));
  EXPECT_FALSE(peers.admits(older));
  EXPECT_TRUE(peers.admits(peer.key));
}

TEST(PeersTest, GiveEachHelloOfAWorkerANewNumber) {
  Peers peers;
  Peer peer;
  peer.role = Role::kWorker;
  peers.admit(peer, TimePoint());
  const auto first = peers.find(peer.key)->link;
  peers.admit(peer, TimePoint());
  EXPECT_NE(peers.find(peer.key)->link, first);
}

TEST(PeersTest, MakeRoomByForgettingWhoWasSilentLongestButNobodyWhoLives) {
  Peers peers;
  const auto admit = [&](int number, TimePoint when) {
    Peer peer;
    peer.role = Role::kWorker;
    peer.key.bytes[0] = static_cast<std::uint8_t>(number), peer.key.bytes[1] = static_cast<std::uint8_t>(number >> 8);
    return peers.admit(peer, when);
  };
  for (std::size_t i = 0; i < Peers::kMost; ++i) ASSERT_TRUE(admit(static_cast<int>(i), TimePoint(i * 1ms)));
  const TimePoint soon = TimePoint(30s), later = TimePoint(Peers::kSilent);
  EXPECT_FALSE(admit(5000, soon));
  EXPECT_TRUE(admit(5000, later));
  EXPECT_EQ(peers.size(), Peers::kMost);
  EXPECT_FALSE(peers.admits(PublicKey{}));
}

}  // namespace
}  // namespace pounce::daemon
