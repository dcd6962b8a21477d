// Questions about what lives in the interpreter wait for the thread of Python that answers them.
#include "worker/interpreter/looks.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "ids.h"
#include "transport/frame.h"

namespace pounce::worker {
namespace {

using namespace std::chrono_literals;

const SessionId kAlice = id_of<SessionId>(1);

struct LooksTest : testing::Test {
  void ask(std::uint32_t number, std::string_view text) {
    transport::Message frames;
    frames.push_back(transport::Frame::copy("header"));
    frames.push_back(transport::Frame::copy(text));
    looks.on(protocol::Look{number}, DataMessage{kAlice, seat, frames});
  }

  DataSockets sockets;
  memory::BlockPool pool{0};
  Clients clients{sockets, pool};
  ClientSeat seat;
  Looks looks{clients};
};

TEST_F(LooksTest, AreTakenInTheirOrderWithWhoAsks) {
  ask(1, "model.");
  ask(2, "model?");

  const auto first = looks.next(Clock::now()), second = looks.next(Clock::now());

  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->session, kAlice);
  EXPECT_EQ(first->text, "model.");
  EXPECT_EQ(second->number, 2u);
  EXPECT_FALSE(looks.next(Clock::now()));
  EXPECT_FALSE(looks.closed());
}

TEST_F(LooksTest, TheOldestIsDroppedWhereTooManyWait) {
  for (std::uint32_t number = 1; number <= Looks::kMostWaiting + 2; ++number) ask(number, "x");

  EXPECT_EQ(looks.next(Clock::now())->number, 3u);
}

TEST_F(LooksTest, OneWithoutItsQuestionIsRefused) {
  transport::Message frames;
  frames.push_back(transport::Frame::copy("header"));
  looks.on(protocol::Look{1}, DataMessage{kAlice, seat, frames});

  EXPECT_FALSE(looks.next(Clock::now()));
  EXPECT_EQ(seat.outbox.waiting(), 1u);
}

TEST_F(LooksTest, AThreadThatWaitsIsFreedWhenTheWorkerEnds) {
  auto waiting = std::async(std::launch::async, [this] { return looks.next(Clock::now() + 1h).has_value(); });

  looks.close();

  EXPECT_FALSE(waiting.get());
  EXPECT_TRUE(looks.closed());
}

}  // namespace
}  // namespace pounce::worker
