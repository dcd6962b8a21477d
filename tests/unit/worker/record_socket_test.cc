#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "worker/common/supervisor_channel.h"
#include "worker/interpreter/supervisor_link.h"

namespace pounce::worker {
namespace {

class RecordSocketTest : public testing::Test {
 protected:
  RecordSocketTest() {
    int fds[2];
    POUNCE_CHECK(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0, "socketpair");
    raw = fds[1];
    here.emplace(UniqueFd(fds[0]));
    there.emplace(UniqueFd(fds[1]));
  }
  int raw = -1;
  std::optional<RecordSocket> here, there;
};

TEST_F(RecordSocketTest, CarriesMessagesInOrder) {
  here->send(protocol::Activity{1, 2});
  here->send(protocol::Ready{"tcp://x:1", "k"});
  there->fill();
  EXPECT_EQ(std::get<protocol::Activity>(*there->next()).running, 1u);
  EXPECT_EQ(std::get<protocol::Ready>(*there->next()).endpoint, "tcp://x:1");
  EXPECT_FALSE(there->next().has_value());
}

TEST_F(RecordSocketTest, KeepsWhatThePeerDoesNotReadYetAndSendsItLater) {
  for (int i = 0; i < 20'000; ++i) here->send(protocol::Activity{static_cast<std::uint32_t>(i), 0});
  EXPECT_TRUE(here->unsent());
  std::uint32_t expected = 0;
  while (expected < 20'000) {
    there->fill();
    while (const auto message = there->next()) ASSERT_EQ(std::get<protocol::Activity>(*message).running, expected++);
    here->flush();
  }
  EXPECT_FALSE(here->unsent());
}

TEST_F(RecordSocketTest, GivesWhatWasSaidBeforeThePeerHungUp) {
  here->send(protocol::Activity{7, 0});
  here.reset();
  there->fill();
  EXPECT_FALSE(there->open());
  EXPECT_EQ(std::get<protocol::Activity>(*there->next()).running, 7u);
}

TEST(SupervisorLinkTest, NoReportIsDueOnceTheSupervisorIsGone) {
  int fds[2];
  POUNCE_CHECK(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0, "socketpair");
  SupervisorLink link{UniqueFd(fds[0])};
  link.tell_running(1);
  ::close(fds[1]);
  link.receive();
  EXPECT_EQ(link.next_report(true), TimePoint::max());  // a deadline in the past would keep the worker's loop spinning
  EXPECT_FALSE(link.report_due(Clock::now(), true));
}

TEST_F(RecordSocketTest, ClosesOnNonsense) {
  POUNCE_CHECK(::write(raw, "\0\0\0\4junk", 8) == 8, "write");
  here->fill();
  EXPECT_FALSE(here->next().has_value());
  EXPECT_FALSE(here->open());
}

TEST_F(RecordSocketTest, SendsNothingIntoAClosedSocket) {
  there.reset();
  here->send(protocol::Activity{});
  here->send(protocol::Activity{});
  EXPECT_FALSE(here->open());
}

}  // namespace
}  // namespace pounce::worker
