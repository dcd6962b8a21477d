// The lease core in thousands of simulated lives. POUNCE_FUZZ_SEEDS: how many (default 200); POUNCE_FUZZ_SEED: only that one,
// with its history. A failing seed is printed; it becomes a fixed test once its bug is understood.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>

#include "base/check.h"
#include "simulator/world.h"

namespace pounce::simulator {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// In a debug build the core checks itself and would end the process; a life shall only end with its seed told.
void throw_it(const char*, const char* message, const char*, int) { throw std::runtime_error(message); }
const bool thrown = (check_handler = throw_it) != nullptr;

Outcome told(std::uint64_t seed, World& world) {
  Outcome outcome = world.live();
  if (outcome.failure && std::getenv("POUNCE_FUZZ_SEED") != nullptr) std::cerr << "seed " << seed << "\n" << world.history();
  return outcome;
}

Outcome live(std::uint64_t seed, Mutant mutant = Mutant::kNone) {
  Random random(seed ^ 0x9e3779b97f4a7c15ull);
  World world(seed, Faults::drawn(random), mutant);
  return told(seed, world);
}

TEST(Simulation, EveryLifeKeepsItsInvariantsAndSettles) {
  const std::uint64_t only = from_environment("POUNCE_FUZZ_SEED", 0);
  const std::uint64_t first = only != 0 ? only : from_environment("POUNCE_SIM_FIRST", 1);
  const std::uint64_t last = only != 0 ? only : first + from_environment("POUNCE_FUZZ_SEEDS", 200) - 1;
  Outcome sum;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const Outcome outcome = live(seed);
    ASSERT_FALSE(outcome.failure) << "seed " << seed << " " << *outcome.failure;
    sum.asked += outcome.asked;
    sum.done += outcome.done;
    sum.lost += outcome.lost;
    sum.failed += outcome.failed;
    sum.leases += outcome.leases;
    sum.events += outcome.events;
  }
  RecordProperty("lives", std::to_string(last - first + 1));
  RecordProperty("events", std::to_string(sum.events));
  // The lives must be worth living: most tasks end well, some do not.
  EXPECT_GT(sum.done, sum.asked / 2);
  EXPECT_GT(sum.lost + sum.failed, 0u);
}

TEST(Simulation, WithoutTroubleEveryTaskIsDone) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World world(seed, Faults{});
    const Outcome outcome = told(seed, world);
    ASSERT_FALSE(outcome.failure) << "seed " << seed << " " << *outcome.failure;
    ASSERT_EQ(outcome.lost, 0u) << "seed " << seed << "\n" << world.history();
    ASSERT_EQ(outcome.done + outcome.failed, outcome.asked) << "seed " << seed;
  }
}

TEST(Simulation, TheSameSeedIsTheSameLife) {
  const Outcome once = live(7), again = live(7);
  EXPECT_EQ(once.events, again.events);
  EXPECT_EQ(once.done, again.done);
  EXPECT_EQ(once.leases, again.leases);
}

// A simulation that finds nothing proves nothing: each planted bug must show within a thousand lives.
class MutantTest : public ::testing::TestWithParam<Mutant> {};

TEST_P(MutantTest, IsFound) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    if (const Outcome outcome = live(seed, GetParam()); outcome.failure) {
      RecordProperty("seed", std::to_string(seed));
      RecordProperty("finding", *outcome.failure);
      return;
    }
  }
  FAIL() << "a planted bug was not found in 1000 lives";
}

INSTANTIATE_TEST_SUITE_P(EachPlantedBug, MutantTest,
                         ::testing::Values(Mutant::kNoReconcile, Mutant::kIdleTimerLost, Mutant::kInstanceIgnored,
                                           Mutant::kCancelOnce, Mutant::kSilenceIgnored, Mutant::kJournalAfter));

}  // namespace
}  // namespace pounce::simulator
