#include "core/forecast/choices.h"

#include <gmock/gmock.h>

namespace pounce::forecast {
namespace {

using testing::ElementsAre;

Eta at(std::int64_t start_s) { return {start_s, start_s - 10, start_s + 10}; }

ClassReport report() {
  ClassReport all;
  all.classes = {ClassUse{"cheetah", true, 30, 20, 3, -1, 4, -1, 3, -1},
                 ClassUse{"lion", false, 1440, 4, 0, -1, 0, -1, 0, -1},
                 ClassUse{"panther", false, 10'080, 1, 0, -1, 0, 0, 0, -1}};
  all.gpus = {GpuUse{"a100", 6, 0, at(900)}, GpuUse{"a100_3g.20gb", 2, 1, {}}, GpuUse{"v100", 2, 0, at(500)}};
  all.cpus_free = 4;
  return all;
}

// One slice and processors are free.
bool slice_or_cpu(const Resources& asks) {
  return asks.gpus == 0 || (asks.gpus == 1 && asks.gpu_type == "a100_3g.20gb");
}

Resources gpu(const std::string& type, const std::string& class_name = "") {
  Resources asks;
  asks.gpus = 1, asks.gpu_type = type, asks.class_name = class_name;
  return asks;
}

std::vector<std::string> options(const std::vector<Choice>& all) {
  std::vector<std::string> found;
  for (const Choice& one : all) found.push_back(one.option);
  return found;
}

const Choice& of(const std::vector<Choice>& all, const std::string& option) {
  return *std::ranges::find(all, option, &Choice::option);
}

TEST(Choices, WhatIsFreeNowComesFirstThenWhatIsSoonest) {
  const auto all = choices(gpu("a100"), {}, at(900), report(), slice_or_cpu);

  EXPECT_THAT(options(all), ElementsAre("", "a100_3g.20gb", "cpu", "v100", "cancel"));
  EXPECT_EQ(all.front().eta.start_s, 900);
  EXPECT_TRUE(of(all, "a100_3g.20gb").now);
  EXPECT_TRUE(of(all, "cpu").now);
  EXPECT_FALSE(of(all, "v100").now);
  EXPECT_EQ(of(all, "v100").eta.start_s, 500);
}

TEST(Choices, WhoAskedForAnyTypeGetsNoOther) {
  EXPECT_THAT(options(choices(gpu(""), {}, {}, report(), slice_or_cpu)), ElementsAre("", "cpu", "cancel"));
}

TEST(Choices, WhereALimitIsInTheWayOtherClassesAreOffered) {
  const auto all = choices(gpu("a100_3g.20gb"), {"job", 20, 20, 1}, {}, report(), slice_or_cpu);

  EXPECT_TRUE(of(all, "class=lion").now);
  EXPECT_EQ(of(all, "class=lion").resources.class_name, "lion");
  EXPECT_EQ(of(all, "class=panther").cause, (Cause{.code = CauseCode::kClassWithoutGpu, .word = "panther"}));
  EXPECT_EQ(all[all.size() - 2].option, "class=panther");
}

TEST(Choices, OfOtherClassesThoseAreOfferedThatTheSiteNamesInItsOrder) {
  ClassReport named = report();
  named.classes.push_back(ClassUse{"tabby", false, 720, 1, 0, -1, 0, -1, 0, -1});
  named.classes[0].instead = {"tabby", "lion", "closed"};

  EXPECT_THAT(options(choices(gpu("a100_3g.20gb"), {"job", 20, 20, 1}, {}, named, slice_or_cpu)),
              ElementsAre("", "cpu", "class=tabby", "class=lion", "v100", "a100", "cancel"));
}

TEST(Choices, ALimitThatIsFullIsNamedWithItsNumbers) {
  ClassReport full = report();
  full.classes[1].jobs_used = 4;
  full.classes[0].gpus_most = 3;

  const auto all = choices(gpu("a100"), {"job", 20, 20, 1}, {}, full, slice_or_cpu);

  EXPECT_EQ(of(all, "class=lion").cause,
            (Cause{.code = CauseCode::kClassJobsTaken, .number = 4, .used = 4, .word = "lion"}));
  EXPECT_EQ(of(all, "a100_3g.20gb").cause,
            (Cause{.code = CauseCode::kClassGpusTaken, .number = 3, .used = 3, .word = "cheetah"}));
  EXPECT_FALSE(of(all, "a100_3g.20gb").now);
}

TEST(Choices, WithoutAGpuThereIsNothingCheaper) {
  EXPECT_THAT(options(choices({}, {}, {}, report(), slice_or_cpu)), ElementsAre("", "cancel"));
}

TEST(Choices, OfSeveralGpusATypeWithTooFewIsNotOffered) {
  Resources three = gpu("a100");
  three.gpus = 3;

  EXPECT_THAT(options(choices(three, {}, {}, report(), slice_or_cpu)), ElementsAre("", "cpu", "cancel"));
}

TEST(Choices, GpusThatAreFreeOnSeveralNodesAreNoRoomForOneWhoWantsThemTogether) {
  ClassReport scattered = report();
  scattered.gpus[2] = {"v100", 2, 2, {}};
  Resources two = gpu("a100");
  two.gpus = 2;

  EXPECT_FALSE(of(choices(two, {}, {}, scattered, slice_or_cpu), "v100:2").now);
}

}  // namespace
}  // namespace pounce::forecast
