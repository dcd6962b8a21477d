// The tables of fields: what they hold, and what of them is refused when it is compiled.
#include "pounce/fields.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace pounce {
namespace {

struct Nap {
  std::chrono::minutes time{20};
  std::optional<std::string> place;

  static constexpr auto fields() {
    return table(field("time_min", &Nap::time, "how long"), field("place", &Nap::place).only_if_set());
  }
};
struct Cat {
  std::string name;
  Nap nap;
  std::uint32_t lives = 9;

  static constexpr auto fields() {
    return table(field("name", &Cat::name), part(&Cat::nap), field("lives", &Cat::lives).within(1, 9).only_if_set());
  }
};
struct House {
  Cat cat;

  static constexpr auto fields() { return table(part(&House::cat)); }
};
struct Nothing {
  static constexpr auto fields() { return table(); }
};

struct WrongUnit {
  std::chrono::seconds time{0};
  static constexpr auto fields() { return table(field("time_min", &WrongUnit::time)); }
};
struct Twice {
  int one = 0, two = 0;
  static constexpr auto fields() { return table(field("name", &Twice::one), field("name", &Twice::two)); }
};
struct Capital {
  int one = 0;
  static constexpr auto fields() { return table(field("One", &Capital::one)); }
};

static_assert(well_formed<Cat>() && well_formed<House>() && well_formed<Nothing>());
static_assert(!well_formed<WrongUnit>() && !well_formed<Twice>() && !well_formed<Capital>());

std::vector<std::string> names_of(const auto& value) {
  std::vector<std::string> names;
  for_each_field(value, [&](const auto& field, const auto&) { names.emplace_back(field.name); });
  return names;
}

TEST(FieldsTest, ThoseOfAPartStandAmongTheOthersInOrder) {
  EXPECT_EQ(names_of(Cat{}), (std::vector<std::string>{"name", "time_min", "place", "lives"}));
  EXPECT_EQ(names_of(House{}), names_of(Cat{}));
  EXPECT_TRUE(names_of(Nothing{}).empty());
}

TEST(FieldsTest, AreTheMembersThemselves) {
  House house;
  for_each_field(house, [](const auto& field, auto& member) {
    if constexpr (std::is_same_v<decltype(member), std::chrono::minutes&>) {
      EXPECT_EQ(field.about, "how long");
      member = std::chrono::minutes(5);
    }
  });
  EXPECT_EQ(house.cat.nap.time, std::chrono::minutes(5));
}

TEST(FieldsTest, ARareOneIsWrittenOnlyWhereItDiffersFromItsDefault) {
  Cat cat;
  const auto written = [&] {
    std::vector<std::string> names;
    for_each_field(cat, [&](const auto& field, const auto& member) {
      if (is_written<Cat>(field, member)) names.emplace_back(field.name);
    });
    return names;
  };
  EXPECT_EQ(written(), (std::vector<std::string>{"name", "time_min"}));
  cat.lives = 8;
  cat.nap.place = "";
  EXPECT_EQ(written(), (std::vector<std::string>{"name", "time_min", "place", "lives"}));
}

TEST(BoundsTest, HoldNumbersAndDurationsOfAnyWidth) {
  constexpr Bounds kBounds{-1, 1ull << 63};
  EXPECT_TRUE(is_within(kBounds, -1) && is_within(kBounds, std::uint64_t{1} << 63) &&
              is_within(kBounds, std::chrono::minutes(5)));
  EXPECT_FALSE(is_within(kBounds, -2) || is_within(kBounds, (std::uint64_t{1} << 63) + 1) ||
               is_within(kBounds, std::chrono::minutes(-2)));
  EXPECT_TRUE(is_within(Bounds{}, std::numeric_limits<std::uint64_t>::max()) &&
              is_within(Bounds{}, std::numeric_limits<std::int64_t>::min()));
  EXPECT_TRUE(is_within(Bounds{1, 1}, std::string("no number")));
}

TEST(BoundsTest, AFieldKeepsItsOwnAsAPartOfAnother) {
  Bounds of_lives;
  const House house;
  for_each_field(house, [&](const auto& field, const auto&) {
    if (field.name == "lives") of_lives = field.bounds;
  });
  EXPECT_EQ(of_lives, (Bounds{1, 9}));
}

enum class Mood : std::uint8_t { kGood, kBad };
constexpr auto words(Mood) { return words_of<Mood>({"good", "bad"}); }
enum class Fur : std::uint8_t { kUnknown, kLong };
constexpr auto words(Fur) { return words_of<Fur>({"unknown", "long"}, Fur::kUnknown); }

TEST(WordsTest, AnUnknownOneIsRefusedOrReadAsSaid) {
  EXPECT_EQ(words(Mood{}).of(Mood::kBad), "bad");
  EXPECT_EQ(words(Mood{}).from("bad"), Mood::kBad);
  EXPECT_EQ(words(Mood{}).from("awful"), std::nullopt);
  EXPECT_EQ(words(Fur{}).from("striped"), Fur::kUnknown);
}

}  // namespace
}  // namespace pounce
