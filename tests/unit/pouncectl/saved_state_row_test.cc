#include <gmock/gmock.h>

#include <algorithm>

#include "pouncectl/output.h"
#include "pouncectl/parked.h"

namespace pounce::ctl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kNow = 1'700'000'000;

SavedStateRow row(const std::string& id, std::int64_t saved_s = kNow - 120) {
  SavedStateRow one;
  one.id = id, one.notebook = "/home/alice/fit.ipynb", one.size = 1'500'000, one.cell = 7,
  one.saved_s = one.used_s = saved_s;
  one.variables = {"history", "model"};
  return one;
}

std::vector<std::string> ids(const std::vector<SavedStateRow>& rows) {
  std::vector<std::string> all;
  for (const SavedStateRow& one : rows) all.push_back(one.id);
  return all;
}

TEST(SavedStatesTableTest, ShowsWhoseWhatAndSinceWhen) {
  EXPECT_EQ(saved_states_table({row("3f2a0000aaaaaaaa")}, kNow),
            "ID        NOTEBOOK   SIZE    AFTER CELL  SAVED      VARIABLES\n"
            "3f2a0000  fit.ipynb  1.5 MB  7           2 min ago  history, model\n");
}

TEST(SavedStatesTableTest, OneThatCannotBeReadHasItsReason) {
  SavedStateRow damaged = row("3f2a0000aaaaaaaa");
  damaged.problem = "the list of what was saved is cut off or was changed";

  EXPECT_THAT(saved_states_table({damaged}, kNow), HasSubstr(damaged.problem));
}

TEST(SavedStatesTableTest, OneThatHasNotBeenSavedYetSaysSo) {
  EXPECT_THAT(saved_states_table({row("3f2a0000aaaaaaaa", 0)}, kNow), HasSubstr("nothing is saved yet"));
}

TEST(SavedStatesTableTest, ManyNamesAreCounted) {
  SavedStateRow many = row("3f2a0000aaaaaaaa");
  many.variables.assign(11, "x");

  EXPECT_THAT(saved_states_table({many}, kNow), HasSubstr("x, x, x, x, x, x, x, x and 3 more"));
}

TEST(SavedStatesTableTest, NothingInItActsOnATerminal) {
  SavedStateRow hostile = row("3f2a0000aaaaaaaa");
  hostile.notebook = "/home/alice/\x1b[2J";
  hostile.variables = {"a\nb", std::string(100'000, 'x')};

  const std::string table = saved_states_table({hostile}, kNow);

  EXPECT_EQ(table.find('\x1b'), std::string::npos);
  EXPECT_EQ(std::ranges::count(table, '\n'), 2);
  EXPECT_LT(table.size(), 2000u);
}

TEST(SavedStatesChoiceTest, TheBeginningOfAnIdIsEnough) {
  const std::vector<SavedStateRow> rows{row("3f2a0000aaaaaaaa"), row("3f2b0000aaaaaaaa")};

  EXPECT_THAT(ids(*saved_states_named(rows, {"3f2b", "3f2b0"})), ElementsAre("3f2b0000aaaaaaaa"));
  EXPECT_THAT(saved_states_named(rows, {"3f"}).error().text, HasSubstr("several"));
  EXPECT_THAT(saved_states_named(rows, {"77"}).error().remedy, HasSubstr("3f2a0000, 3f2b0000"));
}

TEST(SavedStatesChoiceTest, OlderAreThoseNotUsedSince) {
  SavedStateRow taken_up = row("bbbb0000aaaaaaaa", kNow - 900), unknown = row("cccc0000aaaaaaaa", 0);
  taken_up.used_s = kNow - 10;

  EXPECT_THAT(ids(last_used_before({row("aaaa0000aaaaaaaa", kNow - 900), taken_up, unknown}, kNow - 600)),
              ElementsAre("aaaa0000aaaaaaaa"));
}

TEST(SavedStatesSumTest, CountsStatesAndBytes) {
  EXPECT_EQ(saved_states_sum({row("a")}), "1 saved state, 1.5 MB");
  EXPECT_EQ(saved_states_sum({row("a"), row("b")}), "2 saved states, 3.0 MB");
}

TEST(ByteSizeTest, IsAsTheNotebookSaysIt) {
  EXPECT_EQ(byte_size(0), "0 B");
  EXPECT_EQ(byte_size(999), "999 B");
  EXPECT_EQ(byte_size(1000), "1.0 kB");
  EXPECT_EQ(byte_size(412'000'000), "412.0 MB");
  EXPECT_EQ(byte_size(20'000'000'000), "20.0 GB");
}

TEST(TimeSpanTest, HasANumberAndAUnit) {
  EXPECT_EQ(*seconds_of("7d"), 7 * 86400);
  EXPECT_EQ(*seconds_of("12h"), 12 * 3600);
  EXPECT_EQ(*seconds_of("90min"), 5400);
  EXPECT_EQ(*seconds_of("1-12"), 36 * 3600);
  for (const char* wrong : {"", "7", "d", "-1d", "7 5", "1w", "9999999d"}) EXPECT_FALSE(seconds_of(wrong)) << wrong;
}

}  // namespace
}  // namespace pounce::ctl
