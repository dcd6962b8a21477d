// What the stand-by thread costs those who work: seen from outside, in /proc.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "unit/transport/fake_engine.h"

namespace pounce::transport {
namespace {

using namespace std::chrono_literals;

constexpr auto kNoStandBy = std::chrono::duration_cast<std::chrono::microseconds>(1h);

// A line of /proc/self/task/<stand-by>/status; the thread is found by its name.
std::string status_of(const std::string& thread, const std::string& field) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name, line;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name != thread) continue;
    std::ifstream status(task.path() / "status");
    while (std::getline(status, line))
      if (line.starts_with(field + ":")) return line.substr(line.find('\t') + 1);
  }
  return {};
}

TEST(StandbyTest, IsNotWokenByCallsThatFollowEachOther) {
  FakeEngine engine;
  LeaderToken leader_token(engine, "quiet-one", kNoStandBy);
  while (status_of("quiet-one", "State")[0] != 'S') std::this_thread::yield();
  const std::string before = status_of("quiet-one", "voluntary_ctxt_switches");

  for (std::uint64_t round = 1; round <= 500; ++round) {
    leader_token.hold([] {});
    engine.post();
    ASSERT_TRUE(
        leader_token.pump_until([&] { return engine.letters == round; }, Clock::now() + 1h, [] { return false; }));
  }

  EXPECT_EQ(status_of("quiet-one", "voluntary_ctxt_switches"), before);
}

TEST(StandbyTest, TakesNoSignals) {
  FakeEngine engine;
  LeaderToken leader_token(engine, "deaf-one");
  engine.wait_for_turn(1);

  const std::uint64_t blocked = std::stoull(status_of("deaf-one", "SigBlk"), nullptr, 16);

  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGCHLD})
    EXPECT_NE(blocked & (1ull << (signal - 1)), 0u) << signal;
}

}  // namespace
}  // namespace pounce::transport
