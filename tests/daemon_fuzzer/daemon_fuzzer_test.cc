// The daemon behind authentication in seeded lives. POUNCE_FUZZ_SEEDS: how many (default 100), from POUNCE_FUZZ_FIRST
// on; POUNCE_FUZZ_SEED: only that one. The sanitizer build runs the same; with coverage: libfuzzer.cc.
#include <gtest/gtest.h>

#include <cstdio>
#include <ostream>
#include <random>
#include <stdexcept>
#include <string>

#include "base/check.h"
#include "daemon_fuzzer/life.h"
#include "support/seeds.h"

namespace pounce::daemon_fuzzer {
namespace {

void throw_it(const char*, const char* message, const char*, int) { throw std::runtime_error(message); }
const bool thrown = (check_handler = throw_it) != nullptr;

std::string script_of(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::string script(50 + random() % 700, '\0');
  for (char& byte : script) byte = static_cast<char>(random());
  return script;
}

TEST(DaemonFuzzer, EveryLifeKeepsWhatEachPeerMayCountOnAndSettles) {
  const Seeds seeds = seeds_of_this_run(100);
  Outcome sum;
  for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    const Outcome outcome = Life(script_of(static_cast<std::uint32_t>(seed))).live();
    ASSERT_EQ(outcome.trouble, "") << "POUNCE_FUZZ_SEED=" << seed;
    sum.steps += outcome.steps, sum.leases += outcome.leases, sum.granted += outcome.granted,
        sum.refused += outcome.refused;
    sum.detached += outcome.detached, sum.restarts += outcome.restarts;
  }
  std::printf("%llu lives: %u steps, %u leases, %u grants, %u refusals, %u detached tasks, %u restarts\n",
              static_cast<unsigned long long>(seeds.count()), sum.steps, sum.leases, sum.granted, sum.refused,
              sum.detached, sum.restarts);
  if (seeds.only_one) return;
  // The lives must be worth living.
  EXPECT_GT(sum.leases, seeds.count() - 1);
  EXPECT_GT(sum.granted, (seeds.count() - 1) / 4);
  EXPECT_GT(sum.refused, seeds.count() - 1);
}

TEST(DaemonFuzzer, TheSameScriptIsTheSameLife) {
  const Outcome once = Life(script_of(7)).live(), again = Life(script_of(7)).live();
  EXPECT_EQ(once.leases, again.leases);
  EXPECT_EQ(once.granted, again.granted);
  EXPECT_EQ(once.refused, again.refused);
}

class PlantedBugTest : public testing::TestWithParam<PlantedBug> {};

TEST_P(PlantedBugTest, IsFound) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    const Outcome outcome = Life(script_of(seed), GetParam()).live();
    if (outcome.trouble.empty()) continue;
    RecordProperty("seed", std::to_string(seed));
    std::printf("seed %u %s\n", seed, outcome.trouble.substr(0, 200).c_str());
    return;
  }
  FAIL() << "a planted bug was not found in 200 lives";
}

INSTANTIATE_TEST_SUITE_P(Each, PlantedBugTest,
                         testing::Values(PlantedBug::kSpeaksForAnother, PlantedBug::kAnswersEverybody,
                                         PlantedBug::kWrongWorker, PlantedBug::kSessionKept, PlantedBug::kSecretShown,
                                         PlantedBug::kJournalForgets, PlantedBug::kJournalTorn,
                                         PlantedBug::kCancelIgnored, PlantedBug::kTimersLost,
                                         PlantedBug::kRefusedAndDone));

}  // namespace
}  // namespace pounce::daemon_fuzzer
