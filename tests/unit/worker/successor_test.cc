// Which daemon a worker believes in after the one that it knew: found by attack, when any endpoint file would do.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "identity/proof.h"
#include "worker/supervisor/daemon_link.h"

namespace pounce::worker {
namespace {

namespace fs = std::filesystem;

constexpr char kStatement[] = R"({"v":1,"key":"of the next daemon"})";

class SuccessorTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/pounce-successor-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder = name;
    options.proof = protocol::Proof::kKeyFile;
    options.key_file = folder + "/key";
    options.endpoint_file = folder + "/endpoint";
    ASSERT_TRUE(identity::make_key_file(options.key_file));
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string seal(const std::string& statement = kStatement) const {
    return identity::key_seal(statement, *identity::read_key_file(options.key_file));
  }
  void publish(const std::string& seal, const std::string& statement = kStatement) const {
    std::ofstream(options.endpoint_file) << statement << '\n' << seal << '\n';
  }

  std::string folder;
  SupervisorOptions options;
};

TEST_F(SuccessorTest, IsBelievedByTheKeyThatTheSupervisorHasHeldSinceItsStart) {
  Successor successor(options);
  publish(seal());
  fs::remove(options.key_file);
  EXPECT_EQ(successor.find().value(), kStatement);
}

TEST_F(SuccessorTest, IsNotBelievedByAKeyThatCameLater) {
  Successor successor(options);
  fs::remove(options.key_file);
  ASSERT_TRUE(identity::make_key_file(options.key_file));
  publish(seal());
  EXPECT_FALSE(successor.find());
}

TEST_F(SuccessorTest, IsNotBelievedWithoutASealOrWithThatOfAnotherStatement) {
  Successor successor(options);
  for (const std::string& wrong : {std::string(), std::string("MUNGE:AwQ=:"), seal("another")}) {
    publish(wrong);
    EXPECT_FALSE(successor.find()) << wrong;
  }
  std::ofstream(options.endpoint_file) << kStatement;
  EXPECT_FALSE(successor.find());
}

TEST_F(SuccessorTest, IsNotBelievedWhereOthersMayWriteItsFile) {
  Successor successor(options);
  publish(seal());
  ASSERT_EQ(::chmod(options.endpoint_file.c_str(), 0666), 0);
  EXPECT_FALSE(successor.find());
}

TEST_F(SuccessorTest, IsReadAnewWhenTheFileChanges) {
  Successor successor(options);
  publish(seal());
  ASSERT_TRUE(successor.find());
  publish(seal(), "forged");
  EXPECT_FALSE(successor.find());
  publish(seal("newer"), "newer");
  EXPECT_EQ(successor.find().value(), "newer");
}

TEST_F(SuccessorTest, IsNotLookedForWherePouncedKeepsItsStateOnADiskOfItsOwn) {
  publish(seal());
  options.endpoint_file.clear();
  EXPECT_FALSE(Successor(options).find());
}

}  // namespace
}  // namespace pounce::worker
