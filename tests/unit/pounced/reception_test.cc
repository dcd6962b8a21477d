// Who gets through the door, decided without a socket.
#include "pounced/reception.h"

#include <gtest/gtest.h>

#include "identity/keys.h"
#include "protocol/codec.h"
#include "transport/context.h"

namespace pounce::daemon {
namespace {

using namespace std::chrono_literals;
using protocol::Hello;
using protocol::Proof;
using protocol::Role;

constexpr unsigned kUid = 1001, kMallory = 1003;

class ReceptionTest : public testing::Test {
 protected:
  Hello client() const {
    Hello hello;
    hello.key = transport::to_z85(peer.public_key);
    hello.session = "000102030405060708090a0b0c0d0e0f";
    return hello;
  }
  Hello worker() const {
    Hello hello;
    hello.role = Role::kWorker;
    hello.proof = Proof::kMunge;
    hello.key = transport::to_z85(peer.public_key);
    hello.lease = "0102030405060708";
    return hello;
  }
  Verdict say(const protocol::Header& header, std::optional<unsigned> uid, const std::string& proof = "") {
    const std::string bytes = protocol::encode(header);
    return reception.judge({peer.public_key, uid, {bytes, proof}}, now);
  }
  static ErrorCode refused(const Verdict& verdict) {
    const auto* error = std::get_if<Error>(&verdict);
    EXPECT_NE(error, nullptr);
    return error != nullptr ? error->code : ErrorCode::kInternal;
  }

  const KeyPair own = identity::make_key_pair(), peer = identity::make_key_pair();
  TimePoint now{1h};
  Reception reception{own.public_key, Proof::kMunge, kUid};
};

TEST_F(ReceptionTest, AdmitsAClientForWhichTheKernelVouches) {
  const Verdict verdict = say(client(), kUid);
  const auto* guest = std::get_if<Guest>(&verdict);
  ASSERT_NE(guest, nullptr);
  EXPECT_EQ(guest->role, Role::kClient);
  EXPECT_EQ(guest->key, peer.public_key);
  EXPECT_EQ(guest->session.hex(), client().session);
}

TEST_F(ReceptionTest, RefusesAPeerOfAnotherUser) {
  EXPECT_EQ(refused(say(client(), kMallory)), ErrorCode::kNotAuthenticated);
  EXPECT_EQ(refused(say(client(), 0)), ErrorCode::kNotAuthenticated);
}

TEST_F(ReceptionTest, DoesNotBelieveAPeerOverTheNetworkWithoutProof) {
  EXPECT_EQ(refused(say(client(), std::nullopt)), ErrorCode::kNotAuthenticated);
}

TEST_F(ReceptionTest, HasAWorkersProofCheckedForExactlyItsClaim) {
  const Verdict verdict = say(worker(), std::nullopt, "credential");
  const auto* question = std::get_if<ProofToCheck>(&verdict);
  ASSERT_NE(question, nullptr);
  EXPECT_EQ(question->claim.audience, own.public_key);
  EXPECT_EQ(question->claim.own, peer.public_key);
  EXPECT_EQ(question->claim.role, "worker");
  EXPECT_EQ(question->claim.subject, worker().lease);
  EXPECT_EQ(question->proof, "credential");
  EXPECT_EQ(question->guest.lease.hex(), worker().lease);
}

TEST_F(ReceptionTest, RefusesAKeyThatIsNotTheConnections) {
  Hello hello = client();
  hello.key = transport::to_z85(own.public_key);
  EXPECT_EQ(refused(say(hello, kUid)), ErrorCode::kNotAuthenticated);
  hello.key = "not a key";
  EXPECT_EQ(refused(say(hello, kUid)), ErrorCode::kNotAuthenticated);
}

TEST_F(ReceptionTest, RefusesAKindOfProofThatWasNotAnnounced) {
  Hello hello = worker();
  hello.proof = Proof::kKeyFile;
  EXPECT_EQ(refused(say(hello, std::nullopt, "x")), ErrorCode::kNotAuthenticated);
}

TEST_F(ReceptionTest, RefusesAHelloWithoutSubject) {
  Hello no_session = client(), no_lease = worker(), zero = worker();
  no_session.session = "";
  no_lease.lease = "xyz";
  zero.lease = "0000000000000000";
  for (const Hello& hello : {no_session, no_lease, zero}) EXPECT_EQ(refused(say(hello, kUid)), ErrorCode::kProtocol);
}

TEST_F(ReceptionTest, UnderstandsNothingButHello) {
  EXPECT_EQ(refused(say(protocol::StatusAsk{1}, kUid)), ErrorCode::kProtocol);
}

TEST_F(ReceptionTest, CountsAndMeasuresBeforeItParses) {
  const std::string garbage = "{", huge(9000, 'x');
  const auto judge = [&](std::vector<std::string_view> frames) {
    return refused(reception.judge({peer.public_key, kUid, std::move(frames)}, now));
  };
  EXPECT_EQ(judge({}), ErrorCode::kProtocol);
  EXPECT_EQ(judge({garbage, garbage, garbage}), ErrorCode::kProtocol);
  EXPECT_EQ(judge({garbage, huge}), ErrorCode::kTooLarge);
  EXPECT_EQ(judge({garbage, ""}), ErrorCode::kProtocol);
}

TEST_F(ReceptionTest, TurnsAFloodAwayAndRecovers) {
  int admitted = 0;
  for (int i = 0; i < 1000; ++i) admitted += std::holds_alternative<Guest>(say(client(), kUid));
  EXPECT_EQ(admitted, 400);
  now += 1s;
  EXPECT_TRUE(std::holds_alternative<Guest>(say(client(), kUid)));
}

TEST(GuestsTest, ForgetAClientsOlderKeyForTheSameSession) {
  Guests guests;
  Guest guest;
  guest.session = *SessionId::from_hex("000102030405060708090a0b0c0d0e0f");
  guest.key.bytes[0] = 1;
  guests.admit(guest, TimePoint());
  const PublicKey older = guest.key;
  guest.key.bytes[0] = 2;
  guests.admit(guest, TimePoint());
  EXPECT_FALSE(guests.admits(older));
  EXPECT_EQ(guests.client(guest.session)->key, guest.key);
}

TEST(GuestsTest, AcceptOneIncarnationPerLeaseAndWorkerIndex) {
  Guests guests;
  Guest guest;
  guest.role = Role::kWorker;
  guest.lease = *LeaseId::from_hex("0102030405060708");
  guest.route = "one";
  guest.key.bytes[0] = 1;
  guests.admit(guest, TimePoint());
  const PublicKey older = guest.key;
  guest.key.bytes[0] = 2;
  guests.admit(guest, TimePoint());
  guests.only_worker(*guests.find(guest.key));
  EXPECT_FALSE(guests.admits(older));
  EXPECT_TRUE(guests.admits(guest.key));
}

TEST(GuestsTest, GiveEachHelloOfAWorkerANewNumber) {
  Guests guests;
  Guest guest;
  guest.role = Role::kWorker;
  guests.admit(guest, TimePoint());
  const auto first = guests.find(guest.key)->link;
  guests.admit(guest, TimePoint());
  EXPECT_NE(guests.find(guest.key)->link, first);
}

TEST(GuestsTest, MakeRoomByForgettingWhoWasSilentLongestButNobodyWhoLives) {
  Guests guests;
  const auto admit = [&](int number, TimePoint when) {
    Guest guest;
    guest.role = Role::kWorker;
    guest.key.bytes[0] = static_cast<std::uint8_t>(number), guest.key.bytes[1] = static_cast<std::uint8_t>(number >> 8);
    return guests.admit(guest, when);
  };
  for (std::size_t i = 0; i < Guests::kMost; ++i) ASSERT_TRUE(admit(static_cast<int>(i), TimePoint(i * 1ms)));
  const TimePoint soon = TimePoint(30s), later = TimePoint(Guests::kSilent);
  EXPECT_FALSE(admit(5000, soon));
  EXPECT_TRUE(admit(5000, later));
  EXPECT_EQ(guests.size(), Guests::kMost);
  EXPECT_FALSE(guests.admits(PublicKey{}));
}

}  // namespace
}  // namespace pounce::daemon
