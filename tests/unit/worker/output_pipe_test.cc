#include "worker/interpreter/output_pipe.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/check.h"

namespace pounce::worker {
namespace {

using namespace std::chrono_literals;

const TimePoint kNow{1h};

class OutputPipeTest : public testing::Test {
 protected:
  OutputPipeTest() {
    int fds[2];
    POUNCE_CHECK(::pipe(fds) == 0, "pipe");
    writer.reset(fds[1]);
    pipe.emplace(UniqueFd(fds[0]), log.get(), "stdout");
  }
  void write(std::string_view text) {
    POUNCE_CHECK(::write(writer.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()), "write");
  }
  std::string logged() {
    char buffer[4096];
    return {buffer, static_cast<std::size_t>(::pread(log.get(), buffer, sizeof(buffer), 0))};
  }

  UniqueFd writer, log{::memfd_create("log", 0)};
  std::optional<OutputPipe> pipe;
};

TEST_F(OutputPipeTest, GivesWhatWasWrittenAndLogsIt) {
  write("one\n");
  write("two");
  EXPECT_EQ(pipe->read(kNow), "one\ntwo");
  EXPECT_EQ(logged(), "one\ntwo");
}

TEST_F(OutputPipeTest, GivesNothingWhenNothingIsThere) {
  EXPECT_EQ(pipe->read(kNow), "");
  EXPECT_FALSE(pipe->resting(kNow));
}

TEST_F(OutputPipeTest, RestsAMomentAfterEachPieceSoThatManyLinesMakeFewMessages) {
  write("first");
  pipe->read(kNow);
  EXPECT_TRUE(pipe->resting(kNow));
  EXPECT_EQ(pipe->rest_until(), kNow + OutputPipe::kPause);
  EXPECT_FALSE(pipe->resting(kNow + OutputPipe::kPause));
}

TEST_F(OutputPipeTest, GivesAFullPieceAndDoesNotRestWhenMoreIsThere) {
  ASSERT_GE(::fcntl(writer.get(), F_GETPIPE_SZ), static_cast<int>(2 * OutputPipe::kPieceBytes));
  write(std::string(OutputPipe::kPieceBytes + 10, 'x'));
  EXPECT_EQ(pipe->read(kNow).size(), OutputPipe::kPieceBytes);
  EXPECT_FALSE(pipe->resting(kNow));
  EXPECT_EQ(pipe->read(kNow).size(), 10u);
}

TEST_F(OutputPipeTest, IsNotPolledAnyMoreWhenUserCodeClosedTheStream) {
  write("bye");
  writer.reset();
  EXPECT_EQ(pipe->read(kNow), "bye");
  EXPECT_EQ(pipe->fd(), -1);
}

}  // namespace
}  // namespace pounce::worker
