#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>

#include "base/process.h"
#include "transport/event_loop.h"

namespace pounce::transport {
namespace {

class SpinTest : public testing::Test {
 protected:
  int poll(std::chrono::microseconds limit) {
    item = {pipe->reader.get(), POLLIN, 0};
    const auto whole = std::chrono::floor<std::chrono::seconds>(limit);
    return spin.poll(&item, 1, {whole.count(), std::chrono::nanoseconds(limit - whole).count()});
  }
  void say() { ASSERT_EQ(::write(pipe->writer.get(), ".", 1), 1); }
  void hear() {
    char byte;
    ASSERT_EQ(::read(pipe->reader.get(), &byte, 1), 1);
  }
  static std::chrono::nanoseconds processor_time() {
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
  }

  std::optional<Pipe> pipe = make_pipe();
  pollfd item{};
  Spin spin;
};

TEST_F(SpinTest, TellsWhatPollTells) {
  EXPECT_EQ(poll(std::chrono::microseconds(100)), 0);
  say();
  EXPECT_EQ(poll(std::chrono::hours(1)), 1);
  EXPECT_EQ(item.revents, POLLIN);
  EXPECT_EQ(poll(std::chrono::hours(1)), 1) << "also when it looks before it sleeps";
  hear();
  EXPECT_EQ(poll(std::chrono::milliseconds(1)), 0);
  EXPECT_EQ(item.revents, 0);
}

TEST_F(SpinTest, SleepsWhereNothingCameLately) {
  for (int i = 0; i < 20; ++i) poll(std::chrono::milliseconds(1));
  EXPECT_EQ(spin.looks(), 0u);
}

TEST_F(SpinTest, LooksForAShortWhileAtMostAndThenSleeps) {
  say();
  poll(std::chrono::seconds(1));
  hear();
  const auto before = processor_time();
  poll(std::chrono::milliseconds(50));
  EXPECT_LT(processor_time() - before, std::chrono::milliseconds(5));
}

}  // namespace
}  // namespace pounce::transport
