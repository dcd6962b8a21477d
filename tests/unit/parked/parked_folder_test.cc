#include "parked/parked_folder.h"

#include <gmock/gmock.h>

#include "unit/parked/parked_world.h"

namespace pounce::parked {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class ParkedFolderTest : public testing::Test {
 protected:
  ParkedFolder folder() const {
    auto opened = ParkedFolder::open(world.root());
    EXPECT_TRUE(opened && *opened);
    return std::move(**opened);
  }
  SavedState state(const std::string& id = ParkedWorld::kId) const {
    auto opened = folder().state(id);
    EXPECT_TRUE(opened);
    return std::move(*opened);
  }

  ParkedWorld world;
};

TEST_F(ParkedFolderTest, WhereNothingWasSavedThereIsNone) {
  const auto opened = ParkedFolder::open(world.root() + "-of-nobody");

  ASSERT_TRUE(opened);
  EXPECT_FALSE(*opened);
}

TEST_F(ParkedFolderTest, ALinkInItsPlaceIsRefused) {
  const std::string link = world.root() + "-link";
  fs::create_symlink(world.root(), link);

  EXPECT_THAT(ParkedFolder::open(link).error().text, HasSubstr("is a link"));
}

TEST_F(ParkedFolderTest, OneThatOthersMayWriteToIsRefused) {
  ::chmod(world.root().c_str(), 0770);

  EXPECT_THAT(ParkedFolder::open(world.root()).error().text, HasSubstr("may be written by others"));
}

TEST_F(ParkedFolderTest, ItsStatesAreTheFoldersWithAnId) {
  world.save(ParkedWorld::kOther, 100);
  world.save(ParkedWorld::kId, 100);
  fs::create_directory(world.of("notes"));

  EXPECT_THAT(folder().ids(), ElementsAre(ParkedWorld::kId, ParkedWorld::kOther));
}

TEST_F(ParkedFolderTest, AStateTellsWhenItWasSavedAndUsed) {
  world.save(ParkedWorld::kId, 100);
  world.write(std::string(ParkedWorld::kId) + "/owner-2", "", 200);

  EXPECT_EQ(state().saved_s(), 100);
  EXPECT_EQ(state().used_s(), 200);
}

TEST_F(ParkedFolderTest, AStateThatWasNeverSavedIsAsOldAsWhatTheKernelWrote) {
  fs::create_directory(world.of(ParkedWorld::kId));
  world.set_time(ParkedWorld::kId, 50);
  EXPECT_EQ(state().saved_s(), 0);
  EXPECT_EQ(state().used_s(), 50);

  world.write(std::string(ParkedWorld::kId) + "/about.json", "{}", 100);

  EXPECT_EQ(state().used_s(), 100);
}

TEST_F(ParkedFolderTest, TheManifestOfTheHighestNumberCounts) {
  world.save(ParkedWorld::kId, 100, 9);
  world.save(ParkedWorld::kId, 100, 10);

  const auto text = state().manifest();

  ASSERT_TRUE(text && *text);
  EXPECT_THAT(**text, HasSubstr(R"("cell": 10)"));
}

TEST_F(ParkedFolderTest, WhatAWorkerHasNotFinishedIsNoManifest) {
  for (const char* name : {"manifest-.json", "manifest-1x.json", "manifest-1234567890.json", ".manifest-1.json.7.8",
                           "manifest--1.json", "manifest-1"})
    EXPECT_FALSE(epoch_of_manifest(name)) << name;
  EXPECT_EQ(epoch_of_manifest("manifest-123456789.json"), 123456789u);
}

TEST_F(ParkedFolderTest, ItsSizeIsThatOfItsFiles) {
  world.save(ParkedWorld::kId, 100);
  const std::uint64_t before = state().bytes();
  world.write(std::string(ParkedWorld::kId) + "/" + std::string(64, 'b'), std::string(1000, 'x'), 100);
  fs::create_symlink("/bin/sh", world.of(std::string(ParkedWorld::kId) + "/" + std::string(64, 'c')));

  EXPECT_EQ(state().bytes(), before + 1000);
}

TEST_F(ParkedFolderTest, AManifestThatIsALinkIsNotFollowed) {
  world.save(ParkedWorld::kId, 100);
  fs::create_symlink("/etc/passwd", world.of(std::string(ParkedWorld::kId) + "/manifest-2.json"));

  EXPECT_THAT(state().manifest().error().text, HasSubstr("is a link"));
}

TEST_F(ParkedFolderTest, APipeInPlaceOfAManifestIsRefusedAndNotWaitedFor) {
  world.save(ParkedWorld::kId, 100);
  ASSERT_EQ(::mkfifo(world.of(std::string(ParkedWorld::kId) + "/manifest-2.json").c_str(), 0600), 0);

  EXPECT_THAT(state().manifest().error().text, HasSubstr("no file"));
}

TEST_F(ParkedFolderTest, AManifestOfHalfAGigabyteIsNotRead) {
  world.save(ParkedWorld::kId, 100);
  fs::resize_file(world.of(std::string(ParkedWorld::kId) + "/manifest-1.json"), 512 << 20);

  EXPECT_THAT(state().manifest().error().text, HasSubstr("longer than"));
}

TEST_F(ParkedFolderTest, AStateThatIsALinkIsNeitherReadNorRemoved) {
  world.save(ParkedWorld::kOther, 100);
  fs::create_symlink(world.of(ParkedWorld::kOther), world.of(ParkedWorld::kId));

  EXPECT_THAT(folder().state(ParkedWorld::kId).error().text, HasSubstr("is a link"));
  EXPECT_FALSE(folder().put_aside(ParkedWorld::kId));
  EXPECT_TRUE(world.there(std::string(ParkedWorld::kOther) + "/manifest-1.json"));
}

TEST_F(ParkedFolderTest, RemovingTakesAFewFilesAtATimeAndTheFolderLast) {
  world.save(ParkedWorld::kId, 100);  // four files
  const auto aside = folder().put_aside(ParkedWorld::kId);
  ASSERT_TRUE(aside);
  EXPECT_FALSE(world.there(ParkedWorld::kId));
  EXPECT_THAT(folder().leftovers(), ElementsAre(*aside));

  EXPECT_EQ(folder().remove_some(*aside, 3), ParkedFolder::Left::kMore);
  EXPECT_EQ(folder().remove_some(*aside, 3), ParkedFolder::Left::kNothing);

  EXPECT_FALSE(world.there(*aside));
  EXPECT_TRUE(world.there("key"));
}

TEST_F(ParkedFolderTest, ALinkInAStateGoesAndWhatItShowsStays) {
  world.save(ParkedWorld::kOther, 100);
  world.save(ParkedWorld::kId, 100);
  fs::create_symlink(world.of(ParkedWorld::kOther), world.of(std::string(ParkedWorld::kId) + "/link"));
  const auto aside = folder().put_aside(ParkedWorld::kId);
  ASSERT_TRUE(aside);

  EXPECT_EQ(folder().remove_some(*aside, 100), ParkedFolder::Left::kNothing);

  EXPECT_TRUE(world.there(std::string(ParkedWorld::kOther) + "/manifest-1.json"));
}

TEST_F(ParkedFolderTest, AFolderInAStateIsNoneOfItsOwnAndStays) {
  world.save(ParkedWorld::kId, 100);
  fs::create_directories(world.of(std::string(ParkedWorld::kId) + "/photographs/holiday"));
  const auto aside = folder().put_aside(ParkedWorld::kId);
  ASSERT_TRUE(aside);

  auto left = ParkedFolder::Left::kMore;
  while (left == ParkedFolder::Left::kMore) left = folder().remove_some(*aside, 2);

  EXPECT_EQ(left, ParkedFolder::Left::kStuck);
  EXPECT_TRUE(world.there(*aside + "/photographs/holiday"));
}

}  // namespace
}  // namespace pounce::parked
