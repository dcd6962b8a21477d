#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ids.h"
#include "worker/common/supervisor_channel.h"

namespace pounce::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TaskId numbered(std::size_t n) {
  return TaskId(std::array<std::uint8_t, 16>{1, static_cast<std::uint8_t>(n >> 8), static_cast<std::uint8_t>(n)});
}

class RunPageTest : public testing::Test {
 protected:
  UniqueFd fd = std::move(*RunPage::make());
  RunPage writer = std::move(*RunPage::map(fd.get())), reader = std::move(*RunPage::map(fd.get()));
};

TEST_F(RunPageTest, ShowsTheOtherSideWhatRunsAndWhatWasStarted) {
  writer.started(id_of<TaskId>(1));
  EXPECT_EQ(reader.running(), id_of<TaskId>(1));
  writer.ended();
  writer.started(id_of<TaskId>(2));
  EXPECT_EQ(reader.running(), id_of<TaskId>(2));
  EXPECT_THAT(*reader.unacknowledged(), ElementsAre(id_of<TaskId>(1), id_of<TaskId>(2)));
}

TEST_F(RunPageTest, ForgetsWhatWasAcknowledged) {
  writer.started(id_of<TaskId>(1));
  writer.ended();
  writer.acknowledged(id_of<TaskId>(1));
  EXPECT_EQ(reader.running(), std::nullopt);
  EXPECT_THAT(*reader.unacknowledged(), IsEmpty());
}

TEST_F(RunPageTest, UsesFreedPlacesAgain) {
  for (std::size_t n = 0; n < 3 * RunPage::kTasks; ++n) {
    writer.started(numbered(n));
    writer.acknowledged(numbered(n));
  }
  EXPECT_TRUE(reader.unacknowledged().has_value());
}

TEST_F(RunPageTest, KnowsNothingRatherThanTooLittleOnceItOverflowed) {
  for (std::size_t n = 0; n <= RunPage::kTasks; ++n) writer.started(numbered(n));
  EXPECT_EQ(reader.running(), numbered(RunPage::kTasks));
  EXPECT_EQ(reader.unacknowledged(), std::nullopt);
}

TEST_F(RunPageTest, ShowsThatItEndedItself) {
  EXPECT_FALSE(reader.gave_up());
  writer.give_up();
  EXPECT_TRUE(reader.gave_up());
}

TEST_F(RunPageTest, ShowsTheOtherSideTheWordsUpToTheLastOne) {
  EXPECT_EQ(reader.unlogged(), "");
  const std::string_view words("one\0two\n", 8);
  std::ranges::copy(words, writer.words().begin());
  EXPECT_EQ(reader.unlogged(), words);
}

TEST_F(RunPageTest, StartsEmptyForTheNextInterpreter) {
  for (std::size_t n = 0; n <= RunPage::kTasks; ++n) writer.started(numbered(n));
  writer.clear();
  EXPECT_EQ(reader.running(), std::nullopt);
  EXPECT_THAT(*reader.unacknowledged(), IsEmpty());
}

}  // namespace
}  // namespace pounce::worker
