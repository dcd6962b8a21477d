// MUNGE proofs against a real munged: $POUNCE_MUNGE_SOCKET, else the disposable cluster's, else the system's. Without
// any, these tests are skipped; tests/system/attack_test.py needs one and says so.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "identity/proof.h"

namespace pounce::identity {
namespace {

constexpr unsigned kSomebody = 65534;  // nobody: any user but us

struct MungeTest : testing::Test {
  std::string socket;
  const unsigned uid = ::geteuid();
  Claim claim{make_key_pair().public_key, make_key_pair().public_key, "worker", "00112233aabbccdd"};

  void SetUp() override {
    const char* named = std::getenv("POUNCE_MUNGE_SOCKET");
    for (const std::string& place : {std::string(named == nullptr ? "" : named),
                                     std::string("/opt/pounce-cluster/run/munge.sock"), std::string()}) {
      socket = place;
      if (munge_available(socket)) return;
    }
    GTEST_SKIP() << "no munged answers here";
  }

  std::string proof() const { return munge_proof(claim, socket, uid).value(); }
  Result<void> verify(const Claim& of, std::string_view shown) const {
    return verify_munge_proof(of, shown, socket, uid);
  }

  // What `act` returns as another user, who can be no one but a child process.
  static std::string as_somebody(const std::function<std::string()>& act) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      std::string text = ::setuid(kSomebody) == 0 ? act() : "";
      const bool written = ::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
      ::_exit(written ? 0 : 1);
    }
    ::close(ends[1]);
    std::string text(4096, '\0');
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(ends[0], text.data(), text.size()))));
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    return text;
  }
};

TEST_F(MungeTest, AcceptsOurOwnCredentialForThisClaim) {
  const auto verified = verify(claim, proof());
  EXPECT_TRUE(verified) << verified.error().text;
}

TEST_F(MungeTest, RefusesACredentialThatWasUsedBefore) {
  const std::string once = proof();
  ASSERT_TRUE(verify(claim, once));

  const auto again = verify(claim, once);

  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kNotAuthenticated);
  EXPECT_NE(again.error().text.find("Replayed"), std::string::npos) << again.error().text;
}

TEST_F(MungeTest, RefusesACredentialMadeForAnotherKeyDaemonRoleOrLease) {
  Claim other_daemon = claim, other_key = claim, other_role = claim, other_lease = claim;
  other_daemon.audience = make_key_pair().public_key;
  other_key.own = make_key_pair().public_key;
  other_role.role = "client";
  other_lease.subject = "00112233aabbccde";

  for (const Claim& other : {other_daemon, other_key, other_role, other_lease}) {
    const auto verified = verify(other, proof());
    ASSERT_FALSE(verified);
    EXPECT_NE(verified.error().text.find("another key or daemon"), std::string::npos) << verified.error().text;
  }
}

TEST_F(MungeTest, RefusesAChangedCredentialAndNoCredential) {
  std::string changed = proof();
  changed[changed.size() / 2] = changed[changed.size() / 2] == 'A' ? 'B' : 'A';

  EXPECT_FALSE(verify(claim, changed));
  EXPECT_FALSE(verify(claim, ""));
  EXPECT_FALSE(verify(claim, "MUNGE:"));
}

TEST_F(MungeTest, NobodyElseCanDecodeOurCredential) {
  const std::string theirs_only = munge_proof(claim, socket, kSomebody).value();

  const auto verified = verify(claim, theirs_only);

  ASSERT_FALSE(verified);
  EXPECT_NE(verified.error().text.find("Unauthorized"), std::string::npos) << verified.error().text;
}

TEST_F(MungeTest, RefusesAnotherUsersCredentialForTheRightClaim) {
  if (uid != 0) GTEST_SKIP() << "only root can be another user";
  const std::string theirs = as_somebody([&] { return munge_proof(claim, socket, uid).value_or(""); });
  ASSERT_TRUE(theirs.starts_with("MUNGE:")) << theirs;

  const auto verified = verify(claim, theirs);

  ASSERT_FALSE(verified);
  EXPECT_NE(verified.error().text.find("another user's"), std::string::npos) << verified.error().text;
}

TEST_F(MungeTest, ASealCountsForEveryReaderHoweverOften) {
  const std::string seal = munge_seal("I am the daemon", socket, uid).value();

  for (int reader = 0; reader < 3; ++reader) {
    const auto verified = verify_munge_seal("I am the daemon", seal, socket, uid);
    EXPECT_TRUE(verified) << verified.error().text;
  }
  EXPECT_FALSE(verify_munge_seal("I am the Daemon", seal, socket, uid));
  EXPECT_FALSE(verify_munge_seal("I am the daemon", "", socket, uid));
  EXPECT_FALSE(verify_munge_seal("I am the daemon", proof(), socket, uid)) << "a proof is no seal";
}

TEST_F(MungeTest, ASealOfAnotherUserIsRefused) {
  if (uid != 0) GTEST_SKIP() << "only root can be another user";
  const std::string theirs = as_somebody([&] { return munge_seal("I am the daemon", socket, uid).value_or(""); });
  ASSERT_TRUE(theirs.starts_with("MUNGE:")) << theirs;

  EXPECT_FALSE(verify_munge_seal("I am the daemon", theirs, socket, uid));
}

TEST(MungeAbsentTest, SaysThatNoMungedAnswers) {
  const std::string nowhere = "/nonexistent/munge.sock";

  const auto made = munge_proof(Claim{}, nowhere, ::geteuid());
  const auto verified = verify_munge_proof(Claim{}, "MUNGE:AwQ=:", nowhere, ::geteuid());

  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kNotAuthenticated);
  EXPECT_FALSE(made.error().remedy.empty());
  EXPECT_FALSE(verified);
  EXPECT_FALSE(munge_available(nowhere));
}

}  // namespace
}  // namespace pounce::identity
