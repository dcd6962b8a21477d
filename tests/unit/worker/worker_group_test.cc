// The worker group: who is started again, who is not, what the job's exit code is. Supervisors are children that write
// a line and end as the test says.
#include "worker/supervisor/worker_group.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/process.h"

namespace pounce::worker {
namespace {

using namespace std::chrono_literals;

// Runs in a process of its own: a worker group takes over the signals and the children of its process.
class WorkerGroupTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::pipe(lines_), 0); }
  void TearDown() override {
    ::close(lines_[0]);
    ::close(lines_[1]);
  }

  using Serve = std::function<SupervisorEnd(WorkerIndex worker, Epoch first)>;
  int run(std::uint32_t workers, const Serve& serve, std::chrono::milliseconds together = 10s) {
    std::vector<WorkerIndex> members;
    for (std::uint32_t index = 0; index < workers; ++index) members.push_back({index});
    const auto start = [&](WorkerIndex worker, Epoch first) {
      return start_function(Standing::kOurs, SIGTERM, [&] { return static_cast<int>(serve(worker, first)); });
    };
    const pid_t child = ::fork();
    if (child == 0) ::_exit(WorkerGroup(members, start, together).run());
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void say(WorkerIndex worker, Epoch first) {
    const std::string line = std::to_string(worker.value) + "." + std::to_string(first.value) + " ";
    EXPECT_EQ(::write(lines_[1], line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }
  std::vector<std::string> said() {
    std::string text(4096, ' ');
    ::close(lines_[1]);
    lines_[1] = -1;
    text.resize(static_cast<std::size_t>(::read(lines_[0], text.data(), text.size())));
    std::vector<std::string> words;
    for (std::size_t at = 0; at < text.size(); at = text.find(' ', at) + 1)
      words.push_back(text.substr(at, text.find(' ', at) - at));
    std::ranges::sort(words);
    return words;
  }

  // They are blocked in a supervisor, which takes them by descriptor.
  static void wait_for(int signal) {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, signal);
    ::sigwait(&set, &signal);
  }

  int lines_[2] = {-1, -1};
};

using Words = std::vector<std::string>;

// A further node's step takes Slurm a while to start, so it is the first of the members.
TEST_F(WorkerGroupTest, StartsItsMembersInTheirOrder) {
  const auto start = [this](WorkerIndex worker, Epoch) {
    const char name = static_cast<char>('0' + worker.value);
    EXPECT_EQ(::write(lines_[1], &name, 1), 1);
    return start_function(Standing::kOurs, SIGTERM, [] { return static_cast<int>(SupervisorEnd::kOver); });
  };
  const pid_t child = ::fork();
  if (child == 0) ::_exit(WorkerGroup({{2}, {0}, {1}}, start).run());
  ::waitpid(child, nullptr, 0);
  char order[3] = {};
  ASSERT_EQ(::read(lines_[0], order, 3), 3);
  EXPECT_EQ(std::string(order, 3), "201");
}

TEST_F(WorkerGroupTest, EndsWellWhenAllHaveEnded) {
  EXPECT_EQ(run(3, [this](WorkerIndex worker, Epoch first) { return say(worker, first), SupervisorEnd::kOver; }), 0);
  EXPECT_EQ(said(), (Words{"0.0", "1.0", "2.0"}));
}

TEST_F(WorkerGroupTest, ASupervisorThatDiesIsStartedAgainWithHigherEpochs) {
  const auto code = run(2, [this](WorkerIndex worker, Epoch first) {
    say(worker, first);
    if (worker.value == 1 && first.value == 0) ::raise(SIGKILL);
    return SupervisorEnd::kOver;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(said(), (Words{"0.0", "1.0", "1.1000000"}));
}

TEST_F(WorkerGroupTest, OneThatDiesAgainAndAgainEndsThemAllAndFailsTheJob) {
  const auto code = run(2, [](WorkerIndex worker, Epoch) {
    if (worker.value == 1) ::raise(SIGKILL);
    wait_for(SIGTERM);
    return SupervisorEnd::kOver;
  });
  EXPECT_EQ(code, 1);
}

TEST_F(WorkerGroupTest, WhoLeftIdleComesBackWhenOthersStayed) {
  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  const auto code = run(
      2,
      [this, &gate](WorkerIndex worker, Epoch first) {
        say(worker, first);
        char open = 0;
        if (worker.value == 0) static_cast<void>(!::read(gate[0], &open, 1));  // busy until the other is back
        if (worker.value == 1 && first.value > 0) static_cast<void>(!::write(gate[1], "!", 1));
        return worker.value == 1 && first.value == 0 ? SupervisorEnd::kLeftIdle : SupervisorEnd::kOver;
      },
      1ms);
  EXPECT_EQ(code, 0);
  EXPECT_EQ(said(), (Words{"0.0", "1.0", "1.1000000"}));
}

TEST_F(WorkerGroupTest, NobodyComesBackWhenAllLeftTogether) {
  const int code =
      run(3, [this](WorkerIndex worker, Epoch first) { return say(worker, first), SupervisorEnd::kLeftIdle; });
  EXPECT_EQ(code, static_cast<int>(SupervisorEnd::kLeftIdle))
      << "so that the group which has this one as a step may want it back";
  EXPECT_EQ(said(), (Words{"0.0", "1.0", "2.0"}));
}

TEST_F(WorkerGroupTest, TheBatchSystemsSignalsReachEachSupervisor) {
  const auto code = run(2, [this](WorkerIndex worker, Epoch first) {
    if (worker.value == 0) ::kill(::getppid(), SIGUSR2);  // as Slurm does: to the job's first process
    wait_for(SIGUSR2);
    if (worker.value == 1) ::kill(::getppid(), SIGTERM);
    wait_for(SIGTERM);
    say(worker, first);
    return SupervisorEnd::kOver;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(said(), (Words{"0.0", "1.0"}));
}

TEST_F(WorkerGroupTest, TellsWhichMemberWasGivenUpAndWhetherItEverRan) {
  for (const bool runs : {true, false}) {
    const auto start = [&](WorkerIndex worker, Epoch) -> Result<pid_t> {
      if (worker.value == 1 && !runs) return failure(Error{ErrorCode::kInternal, "no such program", {}, {}});
      return start_function(Standing::kOurs, SIGTERM, [&] { return worker.value == 1 ? 1 : (wait_for(SIGTERM), 0); });
    };
    const pid_t child = ::fork();
    if (child == 0) {
      WorkerGroup group({{0}, {1}}, start);
      const bool is_given_up = group.run() == 1 && group.given_up() && group.given_up()->member == WorkerIndex{1};
      ::_exit(is_given_up && group.given_up()->never_ran == !runs ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << (runs ? "one that ends by accident" : "one that cannot be started");
  }
}

// A further node: its first worker stands for the step with all of its own.
// The step of a further node comes first. What was started behind it was never told to end: a job that hung.
TEST_F(WorkerGroupTest, StartsNoneBehindOneThatCannotStart) {
  const auto start = [this](WorkerIndex worker, Epoch first) -> Result<pid_t> {
    if (worker == WorkerIndex{1}) return failure(ErrorCode::kInternal, "there is no srun");
    say(worker, first);
    return start_function(Standing::kOurs, SIGTERM, [] { return 0; });
  };
  const pid_t child = ::fork();
  if (child == 0) ::_exit(WorkerGroup({{1}, {0}}, start).run());
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 1);
  ::close(lines_[1]);
  char nothing;
  EXPECT_EQ(::read(lines_[0], &nothing, 1), 0);
  ASSERT_EQ(::pipe(lines_), 0);
}

TEST_F(WorkerGroupTest, ItsMembersNeedNotBeTheFirstOfTheLease) {
  const pid_t child = ::fork();
  const auto start = [this](WorkerIndex worker, Epoch first) {
    return start_function(Standing::kOurs, SIGTERM,
                          [&] { return say(worker, first), static_cast<int>(SupervisorEnd::kOver); });
  };
  if (child == 0) ::_exit(WorkerGroup({{2}, {3}, {6}}, start).run());
  int status = 0;
  ::waitpid(child, &status, 0);

  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(said(), (Words{"2.0", "3.0", "6.0"}));
}

}  // namespace
}  // namespace pounce::worker
