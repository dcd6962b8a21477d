#include "memory/memory_events.h"

#include <gtest/gtest.h>

#include <map>

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

}  // namespace
}  // namespace pounce::memory
