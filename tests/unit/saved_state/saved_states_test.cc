#include "saved_state/saved_states.h"

#include <gmock/gmock.h>

#include "unit/saved_state/saved_states_world.h"

namespace pounce::saved_state {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class SavedStatesTest : public testing::Test {
 protected:
  SavedStates folder() const {
    auto opened = SavedStates::open(world.root());
    EXPECT_TRUE(opened && *opened);
    return std::move(**opened);
  }
  SavedState state(const std::string& id = SavedStatesWorld::kId) const {
    auto opened = folder().state(id);
    EXPECT_TRUE(opened);
    return std::move(*opened);
  }

  SavedStatesWorld world;
};

TEST_F(SavedStatesTest, WhereNothingWasSavedThereIsNone) {
  const auto opened = SavedStates::open(world.root() + "-of-nobody");

  ASSERT_TRUE(opened);
  EXPECT_FALSE(*opened);
}

TEST_F(SavedStatesTest, ALinkInItsPlaceIsRefused) {
  const std::string link = world.root() + "-link";
  fs::create_symlink(world.root(), link);

  EXPECT_THAT(SavedStates::open(link).error().text, HasSubstr("is a link"));
}

TEST_F(SavedStatesTest, OneThatOthersMayWriteToIsRefused) {
  ::chmod(world.root().c_str(), 0770);

  EXPECT_THAT(SavedStates::open(world.root()).error().text, HasSubstr("may be written by others"));
}

TEST_F(SavedStatesTest, ItsStatesAreTheFoldersWithAnId) {
  world.save(SavedStatesWorld::kOther, 100);
  world.save(SavedStatesWorld::kId, 100);
  fs::create_directory(world.of("notes"));

  EXPECT_THAT(folder().ids(), ElementsAre(SavedStatesWorld::kId, SavedStatesWorld::kOther));
}

TEST_F(SavedStatesTest, AStateTellsWhenItWasSavedAndUsed) {
  world.save(SavedStatesWorld::kId, 100);
  world.write(std::string(SavedStatesWorld::kId) + "/owner-2", "", 200);

  EXPECT_EQ(state().saved_s(), 100);
  EXPECT_EQ(state().used_s(), 200);
}

TEST_F(SavedStatesTest, AStateThatWasNeverSavedIsAsOldAsWhatTheKernelWrote) {
  fs::create_directory(world.of(SavedStatesWorld::kId));
  world.set_time(SavedStatesWorld::kId, 50);
  EXPECT_EQ(state().saved_s(), 0);
  EXPECT_EQ(state().used_s(), 50);

  world.write(std::string(SavedStatesWorld::kId) + "/about.json", "{}", 100);

  EXPECT_EQ(state().used_s(), 100);
}

TEST_F(SavedStatesTest, TheManifestOfTheHighestNumberCounts) {
  world.save(SavedStatesWorld::kId, 100, 9);
  world.save(SavedStatesWorld::kId, 100, 10);

  const auto text = state().manifest();

  ASSERT_TRUE(text && *text);
  EXPECT_THAT(**text, HasSubstr(R"("cell": 10)"));
}

TEST_F(SavedStatesTest, WhatAWorkerHasNotFinishedIsNoManifest) {
  for (const char* name : {"manifest-.json", "manifest-1x.json", "manifest-1234567890.json", ".manifest-1.json.7.8",
                           "manifest--1.json", "manifest-1"})
    EXPECT_FALSE(epoch_of_manifest(name)) << name;
  EXPECT_EQ(epoch_of_manifest("manifest-123456789.json"), 123456789u);
}

TEST_F(SavedStatesTest, ItsSizeIsThatOfItsFiles) {
  world.save(SavedStatesWorld::kId, 100);
  const std::uint64_t before = state().bytes();
  world.write(std::string(SavedStatesWorld::kId) + "/" + std::string(64, 'b'), std::string(1000, 'x'), 100);
  fs::create_symlink("/bin/sh", world.of(std::string(SavedStatesWorld::kId) + "/" + std::string(64, 'c')));

  EXPECT_EQ(state().bytes(), before + 1000);
}

TEST_F(SavedStatesTest, AManifestThatIsALinkIsNotFollowed) {
  world.save(SavedStatesWorld::kId, 100);
  fs::create_symlink("/etc/passwd", world.of(std::string(SavedStatesWorld::kId) + "/manifest-2.json"));

  EXPECT_THAT(state().manifest().error().text, HasSubstr("is a link"));
}

TEST_F(SavedStatesTest, APipeInPlaceOfAManifestIsRefusedAndNotWaitedFor) {
  world.save(SavedStatesWorld::kId, 100);
  ASSERT_EQ(::mkfifo(world.of(std::string(SavedStatesWorld::kId) + "/manifest-2.json").c_str(), 0600), 0);

  EXPECT_THAT(state().manifest().error().text, HasSubstr("no file"));
}

TEST_F(SavedStatesTest, AManifestOfHalfAGigabyteIsNotRead) {
  world.save(SavedStatesWorld::kId, 100);
  fs::resize_file(world.of(std::string(SavedStatesWorld::kId) + "/manifest-1.json"), 512 << 20);

  EXPECT_THAT(state().manifest().error().text, HasSubstr("longer than"));
}

TEST_F(SavedStatesTest, AStateThatIsALinkIsNeitherReadNorRemoved) {
  world.save(SavedStatesWorld::kOther, 100);
  fs::create_symlink(world.of(SavedStatesWorld::kOther), world.of(SavedStatesWorld::kId));

  EXPECT_THAT(folder().state(SavedStatesWorld::kId).error().text, HasSubstr("is a link"));
  EXPECT_FALSE(folder().put_aside(SavedStatesWorld::kId));
  EXPECT_TRUE(world.there(std::string(SavedStatesWorld::kOther) + "/manifest-1.json"));
}

TEST_F(SavedStatesTest, RemovingTakesAFewFilesAtATimeAndTheFolderLast) {
  world.save(SavedStatesWorld::kId, 100);  // four files
  const auto aside = folder().put_aside(SavedStatesWorld::kId);
  ASSERT_TRUE(aside);
  EXPECT_FALSE(world.there(SavedStatesWorld::kId));
  EXPECT_THAT(folder().leftovers(), ElementsAre(*aside));

  EXPECT_EQ(folder().remove_some(*aside, 3), SavedStates::Left::kMore);
  EXPECT_EQ(folder().remove_some(*aside, 3), SavedStates::Left::kNothing);

  EXPECT_FALSE(world.there(*aside));
  EXPECT_TRUE(world.there("key"));
}

TEST_F(SavedStatesTest, ALinkInAStateGoesAndWhatItShowsStays) {
  world.save(SavedStatesWorld::kOther, 100);
  world.save(SavedStatesWorld::kId, 100);
  fs::create_symlink(world.of(SavedStatesWorld::kOther), world.of(std::string(SavedStatesWorld::kId) + "/link"));
  const auto aside = folder().put_aside(SavedStatesWorld::kId);
  ASSERT_TRUE(aside);

  EXPECT_EQ(folder().remove_some(*aside, 100), SavedStates::Left::kNothing);

  EXPECT_TRUE(world.there(std::string(SavedStatesWorld::kOther) + "/manifest-1.json"));
}

TEST_F(SavedStatesTest, AFolderInAStateIsNoneOfItsOwnAndStays) {
  world.save(SavedStatesWorld::kId, 100);
  fs::create_directories(world.of(std::string(SavedStatesWorld::kId) + "/photographs/holiday"));
  const auto aside = folder().put_aside(SavedStatesWorld::kId);
  ASSERT_TRUE(aside);

  auto left = SavedStates::Left::kMore;
  while (left == SavedStates::Left::kMore) left = folder().remove_some(*aside, 2);

  EXPECT_EQ(left, SavedStates::Left::kStuck);
  EXPECT_TRUE(world.there(*aside + "/photographs/holiday"));
}

}  // namespace
}  // namespace pounce::saved_state
