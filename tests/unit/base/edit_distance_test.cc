// Which word was meant.
#include <gtest/gtest.h>

#include "base/text.h"

namespace pounce {
namespace {

TEST(EditDistance, CountsLettersAddedDroppedReplacedAndNeighboursSwapped) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("status", "status"), 0u);
  EXPECT_EQ(edit_distance("", "top"), 3u);
  EXPECT_EQ(edit_distance("statu", "status"), 1u);
  EXPECT_EQ(edit_distance("sttatus", "status"), 1u);
  EXPECT_EQ(edit_distance("stetus", "status"), 1u);
  EXPECT_EQ(edit_distance("statsu", "status"), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(EditDistance, IsTheSameBothWays) {
  EXPECT_EQ(edit_distance("lsit", "list"), edit_distance("list", "lsit"));
  EXPECT_EQ(edit_distance("ab", "cabd"), edit_distance("cabd", "ab"));
}

TEST(MeantWord, IsTheNearestThatASlipExplains) {
  const std::vector<std::string> commands = {"status", "leases", "usage", "top"};

  EXPECT_EQ(meant_word("statsu", commands), "status");
  EXPECT_EQ(meant_word("stat", commands), "status");
  EXPECT_EQ(meant_word("usgae", commands), "usage");
}

TEST(MeantWord, IsNoneWhereNoneIsNear) {
  EXPECT_EQ(meant_word("rm", {"status", "leases", "usage", "top"}), "");
  EXPECT_EQ(meant_word("status", {}), "");
}

}  // namespace
}  // namespace pounce
