// All three cores in thousands of simulated histories. POUNCE_FUZZ_SEEDS: how many (default 200), from
// POUNCE_FUZZ_FIRST on; POUNCE_FUZZ_SEED: only that one, with its history. A failing seed is printed; it becomes a
// fixed test once its bug is understood.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>

#include "base/check.h"
#include "simulator/world.h"
#include "support/seeds.h"

namespace pounce::simulator {
namespace {

// A core that finds itself broken would end the process; a history shall only end with its seed told.
void throw_it(const char*, const char* message, const char*, int) { throw std::runtime_error(message); }
const bool thrown = (check_handler = throw_it) != nullptr;

const bool is_told = std::getenv("POUNCE_FUZZ_SEED") != nullptr;

Verdict told(World& world) {
  Verdict verdict = world.live();
  if (is_told) std::cerr << world.history();
  return verdict;
}

// What must come together for some bugs to show comes together in few histories: in theirs it always does.
Faults provoking(Bug bug, Faults faults) {
  switch (bug) {
    case Bug::kOutcomeToAll:  // one session still holds a lease that another was given
      faults.daemon_crash = 20'000;
      faults.journal_lost = 1'000'000;
      break;
    case Bug::kKeyIgnored:
      faults.start_twice = 10'000;
      break;
    case Bug::kLeavesInSilence:  // only where nothing goes wrong is a task that is lost always a bug
      return Faults{};
    case Bug::kOldConnectionHeard:
      faults.cut = 60'000;
      faults.linger = 1'000'000;
      break;
    default:
      break;
  }
  return faults;
}

Verdict live(std::uint64_t seed, Bug bug = Bug::kNone) {
  Random random(seed ^ 0x9e3779b97f4a7c15ull);
  World world(seed, provoking(bug, Faults::drawn(random)), bug, is_told);
  return told(world);
}

TEST(Simulation, EveryHistoryKeepsItsInvariantsAndSettles) {
  const Seeds seeds = seeds_of_this_run(200);
  Verdict sum;
  for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    const Verdict verdict = live(seed);
    ASSERT_FALSE(verdict.failure) << "seed " << seed << " " << *verdict.failure;
    sum.asked += verdict.asked;
    sum.done += verdict.done;
    sum.lost += verdict.lost;
    sum.events += verdict.events;
  }
  RecordProperty("histories", std::to_string(seeds.count()));
  RecordProperty("messages", std::to_string(sum.events));
  if (seeds.only_one) return;
  // The histories must be worth living: most tasks end well, some do not.
  EXPECT_GT(sum.done, sum.asked / 2);
  EXPECT_GT(sum.lost, 0u);
}

TEST(Simulation, WithoutTroubleEveryTaskIsDone) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    World world(seed, Faults{});
    const Verdict verdict = told(world);
    ASSERT_FALSE(verdict.failure) << "seed " << seed << " " << *verdict.failure;
    ASSERT_EQ(verdict.done + verdict.lost, verdict.asked) << "seed " << seed;
  }
}

TEST(Simulation, TheSameSeedIsTheSameHistory) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) EXPECT_EQ(live(seed), live(seed)) << "seed " << seed;
}

struct Planted {
  Bug bug;
  const char* name;
  const char* what;
};

const Planted kPlanted[] = {
#define POUNCE_BUG(enumerator, what) {Bug::enumerator, #enumerator, what},
    POUNCE_PLANTED_BUGS(POUNCE_BUG)
#undef POUNCE_BUG
};

// A simulation that finds nothing proves nothing: each planted bug must show within a thousand histories.
class PlantedBugTest : public ::testing::TestWithParam<Planted> {};

TEST_P(PlantedBugTest, IsFound) {
  const std::uint64_t first = number_from_environment("POUNCE_FUZZ_FIRST", 1);
  for (std::uint64_t seed = first; seed < first + 1000; ++seed) {
    if (const Verdict verdict = live(seed, GetParam().bug); verdict.failure) {
      RecordProperty("seed", std::to_string(seed));
      RecordProperty("finding", *verdict.failure);
      if (std::getenv("POUNCE_SIM_TELL") != nullptr)
        std::cerr << GetParam().name << " seed " << seed << " " << *verdict.failure << "\n";
      return;
    }
  }
  FAIL() << GetParam().what << ": not found in 1000 histories";
}

INSTANTIATE_TEST_SUITE_P(Simulation, PlantedBugTest, ::testing::ValuesIn(kPlanted),
                         [](const auto& info) { return std::string(info.param.name + 1); });

}  // namespace
}  // namespace pounce::simulator
