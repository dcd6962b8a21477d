// What a worker's job has used, and the texts of /proc that tell it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <vector>

#include "worker/supervisor/process_tree.h"

namespace pounce::worker {
namespace {

using namespace std::chrono_literals;

TEST(MeterTest, CountsTimeWithATaskAndWithoutOne) {
  const TimePoint start{};
  Meter meter(start);
  meter.set_busy(true, start + 10s);
  meter.set_busy(true, start + 12s);
  meter.set_busy(false, start + 15s);
  EXPECT_EQ(meter.used(start + 20s).busy, 5s);
  EXPECT_EQ(meter.used(start + 20s).idle, 15s);
}

TEST(MeterTest, ReadsCpuTimeBehindANameThatHoldsAnything) {
  EXPECT_EQ(cpu_time("7 (a) b (c)) S 1 7 7 0 -1 4194304 90 0 0 0 250 50 100 0 20 0 4 0", 100), 4000ms);
  EXPECT_EQ(cpu_time("7 (cut", 100), 0ms);
}

TEST(MeterTest, ReadsMemoryThatNobodyCanDrop) {
  const Memory memory =
      worker::memory("VmPeak:\t 900 kB\nVmHWM:\t  700 kB\nRssAnon:\t 300 kB\nRssFile:\t 250 kB\nRssShmem:\t  50 kB\n");
  EXPECT_EQ(memory.now_kib, 350u);
  EXPECT_EQ(memory.peak_kib, 700u);
}

// A process with 64 MiB of its own, until it is killed.
class Child {
 public:
  Child() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      std::vector<char> much(64 << 20, 'x');
      (void)!::write(ends[1], &much[much.size() / 2], 1);
      while (true) ::pause();
    }
    char ready = 0;
    EXPECT_EQ(::read(ends[0], &ready, 1), 1);
    ::close(ends[0]), ::close(ends[1]);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

TEST(MeterTest, LooksAtAllProcessesBelowButNotTwiceInASecond) {
  const TimePoint start{};
  Meter meter(start);
  meter.look(::getpid(), start + 5s);
  const Child child;
  meter.look(::getpid(), start + 5500ms);
  EXPECT_EQ(meter.used(start).memory_mib, 0u);
  meter.look(::getpid(), start + 6s);
  EXPECT_GE(meter.used(start).memory_mib, 64u);
}

TEST(MeterTest, HasWhatIsUsedAtTheMoment) {
  const TimePoint start{};
  Meter meter(start);
  {
    const Child child;
    meter.look(::getpid(), start);
    EXPECT_EQ(meter.used(start).cpu_percent, 0u) << "there was no look before it";
    EXPECT_GE(meter.used(start).memory_now_mib, 64u);
  }
  const pid_t computes = ::fork();
  if (computes == 0) {
    while (std::clock() < CLOCKS_PER_SEC / 5) continue;
    ::_exit(0);
  }
  ::waitpid(computes, nullptr, 0);
  meter.look(::getpid(), start + 2s);
  EXPECT_GE(meter.used(start).cpu_percent, 9u) << "a fifth of a second in two";
  EXPECT_LT(meter.used(start).memory_now_mib, 64u);
  EXPECT_GE(meter.used(start).memory_mib, 64u) << "the most that it had";
}

}  // namespace
}  // namespace pounce::worker
