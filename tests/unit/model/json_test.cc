// Values to JSON and back by their tables: each kind of value, and what is malformed.
#include "model/json.h"

#include <gtest/gtest.h>

#include "model/job.h"
#include "model/status_document.h"
#include "pounce/error.h"
#include "unit/model/cases.h"

namespace pounce::model {
namespace {

// Each field with each kind of value, alone and beside others.
template <class T>
void expect_there_and_back() {
  for_each_case(T{}, [](std::string_view name, const T& value) {
    const std::string text = to_text(value);
    const auto again = parse<T>(text);
    ASSERT_TRUE(again) << name << " " << text;
    EXPECT_EQ(to_text(*again), text) << name;
  });
}

TEST(JsonTest, EachFieldOfEachKindArrives) {
  expect_there_and_back<Resources>();
  expect_there_and_back<QueueWait>();
  expect_there_and_back<JobFigures>();
  expect_there_and_back<JobView>();
  expect_there_and_back<JobSpec>();
  expect_there_and_back<Error>();
}

TEST(JsonTest, OnesThatAreNotSetAreNotWritten) {
  EXPECT_EQ(to_text(Resources{}).find("reservation"), std::string::npos);
  EXPECT_EQ(to_text(LeaseRow{}).find("used"), std::string::npos);
  EXPECT_EQ(to_text(QueueWait{}).find("eta"), std::string::npos);
}

TEST(JsonTest, AMissingOneKeepsItsDefaultAndAnUnknownOneIsIgnored) {
  const auto read = parse<Resources>(R"({"gpus":2,"added_later":{"deep":[1]}})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->gpus, 2u);
  EXPECT_EQ(read->workers, 1u);
}

TEST(JsonTest, NullIsAnOptionalOneThatIsNotSet) {
  EXPECT_FALSE(parse<LeaseRow>(R"({"used":null})")->used);
  EXPECT_FALSE(parse<Resources>(R"({"gpus":null})"));
}

TEST(JsonTest, WhatDoesNotFitIsMalformed) {
  for (const char* text : {R"({"gpus":-1})", R"({"gpus":1.5})", R"({"gpus":4294967296})", R"({"gpus":"1"})",
                           R"({"class":1})", R"({"time_min":0.5})", R"({"slurm":[]})", "[]", "1", ""})
    EXPECT_FALSE(parse<Resources>(text)) << text;
}

// Found in an attack: gpus 2^31 of two workers came to none, and a memory of 2^63 MiB was 1 MB of each CPU to Slurm.
TEST(JsonTest, ANumberOutOfItsBoundsIsMalformed) {
  const auto read = [](std::string_view name, const std::string& number) {
    return parse<Resources>("{\"" + std::string(name) + "\":" + number + "}").has_value();
  };
  int bounded = 0;
  const Resources defaults;
  for_each_field(defaults, [&](const auto& field, const auto&) {
    if (field.bounds == Bounds{}) return;
    ++bounded;
    EXPECT_TRUE(read(field.name, std::to_string(field.bounds.least))) << field.name;
    EXPECT_TRUE(read(field.name, std::to_string(field.bounds.most))) << field.name;
    EXPECT_FALSE(read(field.name, std::to_string(field.bounds.least - 1))) << field.name;
    EXPECT_FALSE(read(field.name, std::to_string(field.bounds.most + 1))) << field.name;
  });
  EXPECT_EQ(bounded, 12);
  for (const char* text : {R"({"gpus":2147483648,"workers":2})", R"({"memory_mib":9223372036854775808})",
                           R"({"time_min":4294967295})", R"({"cpus":65534})", R"({"workers":0})", R"({"time_min":-1})"})
    EXPECT_FALSE(parse<Resources>(text)) << text;
}

TEST(JsonTest, APlacementOfALaterVersionIsNoCondition) {
  EXPECT_EQ(parse<Resources>(R"({"placement":"orbit"})")->placement, Placement::kAny);
}

}  // namespace
}  // namespace pounce::model
