#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/process.h"
#include "worker/common/bounded_log.h"
#include "worker/common/supervisor_channel.h"
#include "worker/interpreter/live_output.h"

namespace pounce::worker {
namespace {

using namespace std::chrono_literals;

const TimePoint kNow{1h};

int unread(int fd) {
  int bytes = 0;
  POUNCE_CHECK(::ioctl(fd, FIONREAD, &bytes) == 0, "ioctl");
  return bytes;
}

class OutputPipeTest : public testing::Test {
 protected:
  OutputPipeTest() {
    int fds[2];
    POUNCE_CHECK(::pipe(fds) == 0, "pipe");
    writer.reset(fds[1]);
    pipe.emplace(UniqueFd(fds[0]), log.get(), "stdout", page.words());
  }
  void write(std::string_view text) {
    POUNCE_CHECK(::write(writer.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()), "write");
  }
  std::string logged() {
    char buffer[4096];
    return {buffer, static_cast<std::size_t>(::pread(log.get(), buffer, sizeof(buffer), 0))};
  }

  UniqueFd writer, log{::memfd_create("log", 0)}, page_fd = std::move(*RunPage::make());
  RunPage page = std::move(*RunPage::map(page_fd.get()));
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

// A task that printed 150 MB filled the home's quota.
TEST_F(OutputPipeTest, LogsNoMoreThanTheLimitAndKeepsTheLastLines) {
  const std::string line = std::string(kLogKeptBytes / 32, 'x') + "\n";
  for (std::size_t written = 0; written < 2 * kLogBytes; written += line.size()) {
    write(line);
    pipe->read(kNow);
  }
  write("the last line\n");
  EXPECT_EQ(pipe->read(kNow), "the last line\n") << "the reader gets all";

  struct stat facts{};
  ASSERT_EQ(::fstat(log.get(), &facts), 0);
  EXPECT_LE(facts.st_size, static_cast<off_t>(kLogBytes));
  std::string end(line.size() + 14, '\0');
  ASSERT_EQ(::pread(log.get(), end.data(), end.size(), facts.st_size - static_cast<off_t>(end.size())),
            static_cast<ssize_t>(end.size()));
  EXPECT_EQ(end, line + "the last line\n");
  std::string beginning(22, '\0');
  ASSERT_EQ(::pread(log.get(), beginning.data(), beginning.size(), 0), static_cast<ssize_t>(beginning.size()));
  EXPECT_EQ(beginning, "pounce: removed_bytes=");
}

TEST_F(OutputPipeTest, LeavesNothingBehindOfWhatTheLogHas) {
  write("logged\n");
  pipe->read(kNow);
  EXPECT_EQ(page.unlogged(), "");
}

// The last words of a task that crashed were read by another thread, which died before it had logged them.
TEST_F(OutputPipeTest, WhatAReaderHadReadAndNotLoggedWhenItDiedIsInThePage) {
  const auto full = make_pipe();
  ASSERT_TRUE(full);
  ASSERT_EQ(::fcntl(full->writer.get(), F_SETPIPE_SZ, 4096), 4096);
  const std::string filling(4096, 'x');
  ASSERT_EQ(::write(full->writer.get(), filling.data(), filling.size()), 4096);
  OutputPipe blocked(UniqueFd(::dup(pipe->fd())), full->writer.get(), "stdout", page.words());
  write("last words\n");

  const pid_t reader = ::fork();
  if (reader == 0) {
    blocked.read(kNow);
    ::_exit(0);
  }
  while (unread(pipe->fd()) > 0) ::sched_yield();
  ::kill(reader, SIGKILL);
  ASSERT_EQ(::waitpid(reader, nullptr, 0), reader);

  EXPECT_EQ(page.unlogged(), "last words\n");
}

TEST_F(OutputPipeTest, IsNotPolledAnyMoreWhenUserCodeClosedTheStream) {
  write("bye");
  writer.reset();
  EXPECT_EQ(pipe->read(kNow), "bye");
  EXPECT_EQ(pipe->fd(), -1);
}

}  // namespace
}  // namespace pounce::worker
