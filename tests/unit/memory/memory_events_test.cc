#include <gtest/gtest.h>

#include <map>

#include "memory/cgroup.h"

namespace pounce::memory {
namespace {

class MemoryEventsTest : public testing::Test {
 protected:
  MemoryEvents of(const std::string& cgroups) {
    return MemoryEvents(cgroups, [this](const std::string& path) -> std::optional<std::string> {
      const auto found = files.find(path);
      return found == files.end() ? std::nullopt : std::optional(found->second);
    });
  }
  std::map<std::string, std::string> files;
};

TEST_F(MemoryEventsTest, AddsTheCountersOfVersionTwoUpToTheRoot) {
  files["/sys/fs/cgroup/slurm/job_7/memory.events"] = "low 0\noom 2\noom_kill 2\noom_group_kill 0\n";
  files["/sys/fs/cgroup/slurm/memory.events"] = "oom_kill 3\n";
  EXPECT_EQ(of("0::/slurm/job_7\n").kills(), 5u);
}

TEST_F(MemoryEventsTest, ReadsVersionOnesControl) {
  files["/sys/fs/cgroup/memory/slurm/uid_0/job_7/memory.oom_control"] = "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n";
  EXPECT_EQ(of("5:cpuset:/x\n4:memory:/slurm/uid_0/job_7\n").kills(), 1u);
}

TEST_F(MemoryEventsTest, FindsMemoryAmongSeveralControllers) {
  files["/sys/fs/cgroup/memory/job/memory.oom_control"] = "oom_kill 4\n";
  EXPECT_EQ(of("4:cpu,memory,pids:/job\n").kills(), 4u);
}

TEST_F(MemoryEventsTest, KnowsNothingWithoutCounters) {
  EXPECT_EQ(of("").kills(), std::nullopt);
  EXPECT_EQ(of("0::/\n4:cpuset:/job\nnonsense\n").kills(), std::nullopt);
  EXPECT_EQ(of("0::/job\n").limit(), std::nullopt);
}

TEST_F(MemoryEventsTest, TellsTheSmallestLimitOfTheGroupAndThoseAbove) {
  files["/sys/fs/cgroup/a/b/memory.max"] = "max\n";
  files["/sys/fs/cgroup/a/memory.max"] = "209715200\n";
  EXPECT_EQ(of("0::/a/b\n").limit(), 209715200u);
}

TEST_F(MemoryEventsTest, TakesVersionOnesHugeNumberForNoLimit) {
  files["/sys/fs/cgroup/memory/a/memory.limit_in_bytes"] = "9223372036854771712\n";
  EXPECT_EQ(of("4:memory:/a\n").limit(), std::nullopt);
}

TEST_F(MemoryEventsTest, TellsWhatTheNarrowestGroupLeaves) {
  files["/sys/fs/cgroup/a/b/memory.max"] = "max\n";
  files["/sys/fs/cgroup/a/b/memory.current"] = "10\n";
  files["/sys/fs/cgroup/a/memory.max"] = "1000\n";
  files["/sys/fs/cgroup/a/memory.current"] = "400\n";
  files["/sys/fs/cgroup/c/memory.max"] = "5000\n";
  EXPECT_EQ(of("0::/a/b\n").room(1)->limit, 1000u);
  EXPECT_EQ(of("0::/a/b\n").room(1)->left, 600u);
  EXPECT_FALSE(of("0::/c\n").room(1)) << "nobody knows what it has";
  EXPECT_FALSE(of("0::/d\n").room(1));
}

TEST_F(MemoryEventsTest, WhatIsCachedOfFilesIsLeftWhereItMatters) {
  files["/sys/fs/cgroup/a/memory.max"] = "1000\n";
  files["/sys/fs/cgroup/a/memory.current"] = "900\n";
  files["/sys/fs/cgroup/a/memory.stat"] = "anon 100\nfile 700\nshmem 300\ninactive_file 150\nactive_file 250\n";
  EXPECT_EQ(of("0::/a\n").room(101)->left, 500u);
  EXPECT_EQ(of("0::/a\n").room(100)->left, 100u);
}

TEST_F(MemoryEventsTest, ReadsVersionOnesUseWithTheGroupsBelow) {
  files["/sys/fs/cgroup/memory/a/memory.limit_in_bytes"] = "1000\n";
  files["/sys/fs/cgroup/memory/a/memory.usage_in_bytes"] = "900\n";
  files["/sys/fs/cgroup/memory/a/memory.stat"] =
      "inactive_file 1\nactive_file 2\ntotal_inactive_file 150\ntotal_active_file 250\n";
  EXPECT_EQ(of("4:memory:/a\n").room(500)->left, 500u);
}

TEST_F(MemoryEventsTest, AGroupThatHasMoreThanItMayLeavesNothing) {
  files["/sys/fs/cgroup/a/memory.max"] = "1000\n";
  files["/sys/fs/cgroup/a/memory.current"] = "1200\n";
  EXPECT_EQ(of("0::/a\n").room(1)->left, 0u);
}

}  // namespace
}  // namespace pounce::memory
