#include "pounced/storage/expired_states.h"

#include <gtest/gtest.h>

#include "unit/saved_state/saved_states_world.h"

namespace pounce::daemon {
namespace {

using namespace std::chrono_literals;
using saved_state::SavedStatesWorld;

constexpr std::int64_t kBegan = 1'700'000'000, kDay = 86400;

class ExpiredStatesTest : public testing::Test {
 protected:
  // Until there is nothing left to do; how many turns that took.
  int remove_all() {
    int turns = 1;
    while (expired.step()) ++turns;
    return turns;
  }

  SavedStatesWorld world;
  std::int64_t now_s = kBegan;
  std::chrono::seconds keep = 14 * 24h;
  ExpiredStates expired{world.root(), [this] { return keep; }, [this] { return now_s; }};
};

TEST_F(ExpiredStatesTest, WhatNobodySavedForTwoWeeksGoesAndTheRestStays) {
  world.save(SavedStatesWorld::kId, kBegan);
  world.save(SavedStatesWorld::kOther, kBegan + kDay);
  now_s = kBegan + 14 * kDay;
  remove_all();
  EXPECT_TRUE(world.there(SavedStatesWorld::kId));

  now_s += 1;
  remove_all();

  EXPECT_FALSE(world.there(SavedStatesWorld::kId));
  EXPECT_TRUE(world.there(SavedStatesWorld::kOther));
  EXPECT_TRUE(world.there("key"));
}

TEST_F(ExpiredStatesTest, WhatAWorkerTookUpMeanwhileStays) {
  world.save(SavedStatesWorld::kId, kBegan);
  world.write(std::string(SavedStatesWorld::kId) + "/owner-2", "", kBegan + 13 * kDay);
  now_s = kBegan + 20 * kDay;

  remove_all();

  EXPECT_TRUE(world.there(SavedStatesWorld::kId));
}

TEST_F(ExpiredStatesTest, OneThatWasNeverSavedGoesByWhatTheKernelWrote) {
  std::filesystem::create_directory(world.of(SavedStatesWorld::kId));
  world.write(std::string(SavedStatesWorld::kId) + "/about.json", "{}", kBegan);
  now_s = kBegan + 15 * kDay;

  remove_all();

  EXPECT_FALSE(world.there(SavedStatesWorld::kId));
}

TEST_F(ExpiredStatesTest, WhatTheSiteSaysMeanwhileCounts) {
  world.save(SavedStatesWorld::kId, kBegan);
  now_s = kBegan + 2 * kDay;
  remove_all();
  EXPECT_TRUE(world.there(SavedStatesWorld::kId));

  keep = 24h;
  remove_all();

  EXPECT_FALSE(world.there(SavedStatesWorld::kId));
}

TEST_F(ExpiredStatesTest, WhatMayBeInUseStaysWhateverWasConfigured) {
  world.save(SavedStatesWorld::kId, kBegan);
  keep = 0s;
  now_s = kBegan + 3600;
  remove_all();
  EXPECT_TRUE(world.there(SavedStatesWorld::kId));

  now_s += 1;
  remove_all();

  EXPECT_FALSE(world.there(SavedStatesWorld::kId));
}

TEST_F(ExpiredStatesTest, ALinkIsNeitherFollowedNorRemoved) {
  world.save(SavedStatesWorld::kOther, kBegan);
  std::filesystem::rename(world.of(SavedStatesWorld::kOther), world.root() + "-elsewhere");
  std::filesystem::create_symlink(world.root() + "-elsewhere", world.of(SavedStatesWorld::kId));
  now_s = kBegan + 100 * kDay;

  remove_all();

  EXPECT_TRUE(world.there(SavedStatesWorld::kId));
  EXPECT_TRUE(std::filesystem::exists(world.root() + "-elsewhere/manifest-1.json"));
}

TEST_F(ExpiredStatesTest, ALargeOneGoesAFewFilesATurn) {
  world.save(SavedStatesWorld::kId, kBegan);
  for (int i = 0; i < 200; ++i) world.write(std::string(SavedStatesWorld::kId) + "/" + std::to_string(i), "", kBegan);
  now_s = kBegan + 15 * kDay;
  ASSERT_TRUE(expired.step());  // out of the way
  EXPECT_FALSE(world.there(SavedStatesWorld::kId));

  ASSERT_TRUE(expired.step());

  const std::filesystem::directory_iterator left(world.of(".gone-" + std::string(SavedStatesWorld::kId)));
  EXPECT_EQ(std::distance(begin(left), end(left)), 204 - static_cast<int>(ExpiredStates::kFilesAtOnce));
}

TEST_F(ExpiredStatesTest, ARemovalThatWasCutShortIsFinished) {
  world.save(SavedStatesWorld::kId, kBegan);
  std::filesystem::rename(world.of(SavedStatesWorld::kId), world.of(".gone-" + std::string(SavedStatesWorld::kId)));

  remove_all();

  EXPECT_FALSE(world.there(".gone-" + std::string(SavedStatesWorld::kId)));
}

TEST_F(ExpiredStatesTest, WhereNothingWasEverSavedThereIsNothingToDo) {
  std::filesystem::remove_all(world.root());

  EXPECT_EQ(remove_all(), 1);
}

}  // namespace
}  // namespace pounce::daemon
