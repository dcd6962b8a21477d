// What was held and what was done with it, as pouncectl usage shows it.
#include <gtest/gtest.h>

#include "pouncectl/usage.h"

namespace pounce::ctl {
namespace {

UsedShare share(std::string user, std::string mode, double gpu_h, double told_h, double busy_h) {
  return {std::move(user), "lion", std::move(mode), 1, gpu_h * 3600, gpu_h * 7200, told_h * 3600, busy_h * 3600};
}

const std::vector<UsedShare> kPartitioned = {share("alice", kOffload, 4, 4, 3), share("bob", kOffload, 6, 2, 1),
                                             share("bob", kReservation, 20, 0, 0)};

TEST(UsageTableTest, GroupsByOneKeyMostGpuTimeFirst) {
  const auto cells = usage_cells(kPartitioned, {"mode"});
  ASSERT_EQ(cells.size(), 3u);
  EXPECT_EQ(cells[0], (Cells{"MODE", "JOBS", "CPU TIME", "GPU TIME", "GPU BUSY"}));
  EXPECT_EQ(cells[1], (Cells{"reservation", "1", "40.0 h", "20.0 h", ""}));  // nobody knows what it did
  EXPECT_EQ(cells[2], (Cells{"offload", "2", "20.0 h", "10.0 h", "67 % (known of 60 %)"}));
}

TEST(UsageTableTest, GroupsBySeveral) {
  const auto cells = usage_cells(kPartitioned, {"user", "mode"});
  ASSERT_EQ(cells.size(), 4u);
  EXPECT_EQ(cells[3], (Cells{"alice", "offload", "1", "8.0 h", "4.0 h", "75 %"}));
}

TEST(UsageTableTest, TellsHowMuchOfTheLeasedTimeWasWarmButIdle) {
  EXPECT_EQ(idle_line(kPartitioned),
            "pounce leased 10.0 h of GPU time: 67 % computing, 33 % warm but idle, as far as it is known (60 %)");
  EXPECT_EQ(idle_line({share("a", kOffload, 4, 4, 3)}),
            "pounce leased 4.0 h of GPU time: 75 % computing, 25 % warm but idle");
  EXPECT_EQ(idle_line({share("a", kOffload, 4, 0, 0)}),
            "pounce leased 4.0 h of GPU time; how much of it was warm but idle is not known");
  EXPECT_EQ(idle_line({share("a", kBatch, 4, 0, 0)}), "");
}

TEST(UsageTableTest, MarksWhatOnlyTheJobsThemselvesSay) {
  auto said = share("mallory", kOffload, 4, 4, 3);
  said.said_s = said.told_s;
  EXPECT_EQ(usage_cells({said}, {"user"})[1].back(), "75 % said");
  EXPECT_EQ(usage_cells({said, share("alice", kOffload, 4, 0, 0)}, {"mode"})[1].back(), "75 % said (known of 50 %)");
  EXPECT_EQ(idle_line({said}),
            "pounce leased 4.0 h of GPU time: 75 % computing, 25 % warm but idle, said by the jobs themselves");
}

TEST(OwnUsageTest, TakesTheTimeOfALeaseThatLiesInTheSpan) {
  const char* line = R"({"class":"lion","gpus":2,"cpus":4,"workers":1,"busy_ms":30000,"idle_ms":70000,"end_s":1100})";
  const auto whole = share_of(line, "alice", 0, 2000), half = share_of(line, "alice", 1050, 2000);
  EXPECT_EQ(whole.mode, kOffload);
  EXPECT_DOUBLE_EQ(whole.gpu_s, 200);
  EXPECT_DOUBLE_EQ(whole.busy_s, 60);
  EXPECT_DOUBLE_EQ(whole.cpu_s, 400);
  EXPECT_DOUBLE_EQ(half.gpu_s, 100);
  EXPECT_EQ(share_of(R"({"gpus":2,"busy_ms":30000,"idle_ms":70000,"held":true,"end_s":1100})", "alice", 0, 2000).mode,
            kReservation);
  EXPECT_EQ(share_of(line, "alice", 1100, 2000).jobs, 0u);
  EXPECT_EQ(share_of("{\"class\":\"li", "alice", 0, 2000).jobs, 0u);  // a full disk cut it
}

}  // namespace
}  // namespace pounce::ctl
