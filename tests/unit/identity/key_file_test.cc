// Possession of a 0600 file: what is accepted, and every way in which it is not.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "identity/proof.h"

namespace pounce::identity {
namespace {

struct KeyFileTest : testing::Test {
  std::string folder, path;
  Claim claim{make_key_pair().public_key, make_key_pair().public_key, "worker", "00112233aabbccdd"};

  void SetUp() override {
    char name[] = "/tmp/pounce-key-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);  // 0700
    folder = name;
    path = folder + "/key";
    const auto made = make_key_file(path);
    ASSERT_TRUE(made) << made.error().text;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string proof() const { return key_file_proof(claim, path).value(); }
  bool accepted(const Claim& of, std::string_view shown) const {
    return verify_key_file_proof(of, shown, path).has_value();
  }

  void expect_unusable(const std::string& reason) const {
    const auto made = key_file_proof(claim, path);
    const auto verified = verify_key_file_proof(claim, std::string(32, 'x'), path);
    ASSERT_FALSE(made);
    ASSERT_FALSE(verified);
    EXPECT_EQ(made.error().code, ErrorCode::kNotAuthenticated);
    EXPECT_NE(made.error().text.find(reason), std::string::npos) << made.error().text;
    EXPECT_NE(verified.error().text.find(reason), std::string::npos) << verified.error().text;
  }
};

TEST_F(KeyFileTest, AcceptsTheProofOfWhoReadsTheSameFile) { EXPECT_TRUE(accepted(claim, proof())); }

TEST_F(KeyFileTest, RefusesTheProofOfAnyOtherClaim) {
  const std::string shown = proof();
  Claim other_daemon = claim, other_key = claim, other_role = claim, other_lease = claim;
  other_daemon.audience = make_key_pair().public_key;
  other_key.own = make_key_pair().public_key;
  other_role.role = "client";
  other_lease.subject = "00112233aabbccde";

  for (const Claim& other : {other_daemon, other_key, other_role, other_lease}) EXPECT_FALSE(accepted(other, shown));
}

TEST_F(KeyFileTest, RefusesAProofWithAnyBitChangedOrOfAnotherLength) {
  const std::string shown = proof();

  for (std::size_t bit = 0; bit < shown.size() * 8; ++bit) {
    std::string forged = shown;
    forged[bit / 8] = static_cast<char>(forged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(accepted(claim, forged)) << "bit " << bit;
  }
  EXPECT_FALSE(accepted(claim, ""));
  EXPECT_FALSE(accepted(claim, shown.substr(0, 31)));
  EXPECT_FALSE(accepted(claim, shown + "x"));
}

TEST_F(KeyFileTest, StaysForTheNextDaemonWhereItIsGood) {
  const std::string shown = proof();
  ASSERT_TRUE(make_key_file(path));
  EXPECT_TRUE(accepted(claim, shown));
}

TEST_F(KeyFileTest, IsMadeAnewWhereItIsNot) {
  const std::string shown = proof();
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);  // others have seen it

  ASSERT_TRUE(make_key_file(path));

  EXPECT_FALSE(accepted(claim, shown));
  EXPECT_TRUE(accepted(claim, proof()));
}

TEST_F(KeyFileTest, SealsAStatementForWhoHoldsTheSameKey) {
  const auto key = read_key_file(path), same = read_key_file(path);
  const std::string seal = key_seal("I am the daemon", *key);

  EXPECT_TRUE(is_key_seal("I am the daemon", seal, *same));
  EXPECT_FALSE(is_key_seal("I am the Daemon", seal, *same));
  EXPECT_FALSE(is_key_seal("I am the daemon", seal, SecretKey{}));
  for (const std::string& forged : {std::string(), std::string("00"), seal + "00", std::string(seal.size(), 'x')})
    EXPECT_FALSE(is_key_seal("I am the daemon", forged, *same)) << forged;
}

TEST_F(KeyFileTest, ASealIsNoProofAndAProofNoSeal) {
  const auto key = read_key_file(path);
  EXPECT_FALSE(accepted(claim, key_seal("", *key)));
  EXPECT_FALSE(is_key_seal("", proof(), *key));
}

TEST_F(KeyFileTest, MakesAFileThatOnlyItsUserCanRead) {
  struct stat facts{};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);

  EXPECT_EQ(facts.st_mode & 07777, 0600u);
  EXPECT_EQ(facts.st_uid, ::geteuid());
  EXPECT_EQ(facts.st_size, 32);
}

TEST_F(KeyFileTest, RefusesAFileThatOthersMayRead) {
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  expect_unusable("mode 0600");
}

TEST_F(KeyFileTest, RefusesAFolderThatOthersMayEnter) {
  ASSERT_EQ(::chmod(folder.c_str(), 0750), 0);
  expect_unusable("mode 0700");
  EXPECT_FALSE(make_key_file(path));
}

TEST_F(KeyFileTest, FollowsNoLinkInPlaceOfTheFile) {
  const std::string elsewhere = folder + "/elsewhere";
  std::filesystem::rename(path, elsewhere);
  ASSERT_EQ(::symlink(elsewhere.c_str(), path.c_str()), 0);

  expect_unusable("cannot be read");
}

TEST_F(KeyFileTest, ReplacesALinkInsteadOfWritingThroughIt) {
  const std::string victim = folder + "/victim";
  std::ofstream(victim) << "precious";
  std::filesystem::remove(path);
  ASSERT_EQ(::symlink(victim.c_str(), path.c_str()), 0);

  ASSERT_TRUE(make_key_file(path));

  EXPECT_EQ(std::filesystem::file_size(victim), 8u);
  EXPECT_TRUE(accepted(claim, proof()));
}

TEST_F(KeyFileTest, FollowsNoLinkInPlaceOfTheFolder) {
  const std::string link = folder + "-link";
  ASSERT_EQ(::symlink(folder.c_str(), link.c_str()), 0);

  EXPECT_FALSE(key_file_proof(claim, link + "/key"));

  std::filesystem::remove(link);
}

TEST_F(KeyFileTest, RefusesAFileOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  expect_unusable("mode 0600");
}

TEST_F(KeyFileTest, RefusesAFileOfAnotherLength) {
  ASSERT_EQ(::truncate(path.c_str(), 31), 0);
  expect_unusable("32 bytes");
  ASSERT_EQ(::truncate(path.c_str(), 33), 0);
  expect_unusable("32 bytes");
}

TEST_F(KeyFileTest, SaysThatThereIsNoFile) {
  std::filesystem::remove(path);
  expect_unusable("cannot be read");
}

}  // namespace
}  // namespace pounce::identity
