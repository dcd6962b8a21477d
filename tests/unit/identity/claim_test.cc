// The bytes that a proof binds, and the keys and digests beside them.
#include <gtest/gtest.h>

#include <set>

#include "identity/proof.h"

namespace pounce::identity {
namespace {

PublicKey key_of(std::uint8_t byte) {
  PublicKey key;
  key.bytes.fill(byte);
  return key;
}

// docs/protocol.md §4 gives these bytes: another implementation computes the same.
TEST(ClaimTest, IsMagicAudienceOwnKeyRoleAndSubject) {
  const std::string bytes = claim_bytes({key_of('D'), key_of('C'), "client", "00ff"});

  const std::string expected = std::string("PNC-HELLO\0v1", 12) + std::string(32, 'D') + std::string(32, 'C') +
                               "\x06"
                               "client"
                               "\x04"
                               "00ff";
  EXPECT_EQ(bytes, expected);
}

TEST(ClaimTest, DiffersWithEachOfItsParts) {
  std::set<std::string> all;
  for (const Claim& claim : {Claim{key_of(1), key_of(2), "client", "ab"}, Claim{key_of(2), key_of(1), "client", "ab"},
                             Claim{key_of(1), key_of(3), "client", "ab"}, Claim{key_of(1), key_of(2), "worker", "ab"},
                             Claim{key_of(1), key_of(2), "client", "ac"}, Claim{key_of(1), key_of(2), "clienta", "b"}})
    all.insert(claim_bytes(claim));

  EXPECT_EQ(all.size(), 6u);
}

TEST(KeysTest, AreFreshEachTimeAndSecretFromPublic) {
  std::set<PublicKey> seen;
  for (int i = 0; i < 100; ++i) {
    const KeyPair pair = make_key_pair();
    EXPECT_TRUE(seen.insert(pair.public_key).second);
    EXPECT_NE(pair.public_key.bytes, pair.secret_key.bytes());
  }
}

TEST(KeysTest, AMovedSecretIsWipedWhereItWas) {
  KeyPair pair = make_key_pair();
  const auto before = pair.secret_key.bytes();

  const SecretKey moved = std::move(pair.secret_key);

  EXPECT_EQ(moved.bytes(), before);
  EXPECT_EQ(pair.secret_key.bytes(), SecretKey().bytes());
}

TEST(DigestTest, BindsWhereOnePartEndsAndTheNextBegins) {
  EXPECT_EQ(digest_of({"ab", "c"}), digest_of({"ab", "c"}));
  EXPECT_NE(digest_of({"ab", "c"}), digest_of({"a", "bc"}));
  EXPECT_NE(digest_of({"ab", "c"}), digest_of({"abc"}));
  EXPECT_NE(digest_of({"a:1"}), digest_of({"a", "1"}));
}

}  // namespace
}  // namespace pounce::identity
