// An object for many workers is sent by each about log2 of their number times, and comes to all whatever becomes of
// some.
#include "core/task/broadcast.h"

#include <bit>

#include "unit/core/task/world.h"

namespace pounce::task {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class BroadcastTest : public testing::Test {
 protected:
  using Words = std::vector<std::string>;

  // "1<c": worker 1 fetches from the client; "over 2<1": no more from worker 1.
  static std::string words(const Broadcast::Fetch& fetch) {
    return name(fetch.to) + "<" + (fetch.from ? name(*fetch.from) : "client");
  }
  Words take(const Broadcast::Decisions& decisions) {
    Words all;
    for (const auto& fetch : decisions.over) {
      all.push_back("over " + words(fetch));
      std::erase(under_way, fetch);
    }
    for (const auto& fetch : decisions.begin) {
      all.push_back(words(fetch));
      under_way.push_back(fetch);
      ++sends[fetch.from ? fetch.from->lease.bytes()[0] : 0];
    }
    settled += decisions.settled.size();
    return all;
  }
  Words wants(int worker, const std::string& machine = {}) {
    return take(broadcast.wants(object, place(worker), machine));
  }
  Words has(int worker) { return take(broadcast.has(object, place(worker))); }
  Words failed(int worker) { return take(broadcast.failed(object, place(worker))); }
  Words slow(int worker) { return take(broadcast.slow(place(worker))); }
  Words gone(int worker) { return take(broadcast.gone(place(worker))); }

  ObjectId object = numbered<ObjectId>(1);
  Broadcast broadcast;
  std::vector<Broadcast::Fetch> under_way;
  std::map<int, std::size_t> sends;  // 0: the client
  std::size_t settled = 0;
};

TEST_F(BroadcastTest, TheFirstGetsItFromTheClientAndTheNextFromTheFirst) {
  EXPECT_THAT(wants(1), ElementsAre("w1<client"));
  EXPECT_THAT(has(1), ElementsAre("over w1<client"));
  EXPECT_THAT(wants(2), ElementsAre("w2<w1"));
}

TEST_F(BroadcastTest, WhatAWorkerMadeItGivesOnceItHasItAndUntilThenTheOthersWait) {
  broadcast.made(object, place(1));

  EXPECT_THAT(wants(2), IsEmpty());
  EXPECT_THAT(has(1), ElementsAre("w2<w1"));
  EXPECT_EQ(settled, 1u);
  EXPECT_THAT(has(2), ElementsAre("over w2<w1"));
}

TEST_F(BroadcastTest, WhatAWorkerMadeAndCannotKeepComesFromTheClientToItToo) {
  broadcast.made(object, place(1));
  EXPECT_THAT(wants(2), IsEmpty());

  EXPECT_THAT(failed(1), ElementsAre("w1<client"));
  EXPECT_THAT(has(1), ElementsAre("over w1<client", "w2<w1"));
}

TEST_F(BroadcastTest, WhatAWorkerMadeThatIsGoneComesFromTheClient) {
  broadcast.made(object, place(1));
  EXPECT_THAT(wants(2), IsEmpty());

  EXPECT_THAT(gone(1), ElementsAre("w2<client"));
  EXPECT_EQ(settled, 1u);
}

TEST_F(BroadcastTest, OnOneMachineTheFirstGetsItAndTheOthersFromEachOther) {
  EXPECT_THAT(wants(1, "g1"), ElementsAre("w1<client"));
  EXPECT_THAT(wants(2, "g1"), IsEmpty());
  EXPECT_THAT(wants(3, "g2"), IsEmpty());
  EXPECT_THAT(wants(4, "g1"), IsEmpty());
  EXPECT_THAT(has(1), ElementsAre("over w1<client", "w2<w1", "w3<client"));
  EXPECT_THAT(has(2), ElementsAre("over w2<w1", "w4<w2"));
}

TEST_F(BroadcastTest, OneThatFallsSilentKeepsNobodyOnItsMachineWaiting) {
  wants(1, "g1");
  wants(2, "g1");
  EXPECT_THAT(slow(1), ElementsAre("w2<client"));
}

TEST_F(BroadcastTest, OneThatDoesNotGetItFromBesideGetsItFromTheClient) {
  wants(1, "g1");
  wants(2, "g1");
  has(1);
  EXPECT_THAT(failed(2), ElementsAre("over w2<w1", "w2<client"));
}

TEST_F(BroadcastTest, OneThatRefusesItGetsItFromNobodyAndTheNextIsServed) {
  wants(1);
  wants(2);
  EXPECT_THAT(take(broadcast.refused(object, place(1))), ElementsAre("over w1<client", "w2<client"));
  EXPECT_EQ(settled, 1u);
  EXPECT_THAT(take(broadcast.refused(object, place(1))), IsEmpty());
}

TEST_F(BroadcastTest, NobodyGivesItToTwoAtOnce) {
  wants(1);
  EXPECT_THAT(wants(2), IsEmpty());
  EXPECT_THAT(wants(3), IsEmpty());
  EXPECT_THAT(has(1), ElementsAre("over w1<client", "w2<w1", "w3<client"));
}

class ManyWorkers : public BroadcastTest, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(, ManyWorkers, testing::Values(1, 2, 3, 4, 7, 8, 16, 100));

// Whichever of those under way is the first to come.
TEST_P(ManyWorkers, AreServedByEachAboutLog2OfTheirNumberTimes) {
  const auto workers = static_cast<std::size_t>(GetParam());
  for (std::size_t order = 0; order < 3; ++order) {
    broadcast = {}, sends = {}, under_way = {}, settled = 0;
    for (std::size_t i = 1; i <= workers; ++i) wants(static_cast<int>(i));

    for (std::size_t turn = 0; !under_way.empty(); ++turn) {
      const auto& next = order == 0   ? under_way.front()
                         : order == 1 ? under_way.back()
                                      : under_way[turn % under_way.size()];
      has(next.to.lease.bytes()[0]);
    }

    EXPECT_EQ(settled, workers);
    for (const auto& [sender, times] : sends) EXPECT_LE(times, std::bit_width(workers)) << "sender " << sender;
  }
}

TEST_F(BroadcastTest, WhatASourceDoesNotGiveComesFromTheClientAndNobodyAsksThatSourceAgain) {
  wants(1);
  has(1);
  wants(2);
  EXPECT_THAT(failed(2), ElementsAre("over w2<w1", "w2<client"));
  EXPECT_THAT(wants(3), IsEmpty());
  EXPECT_THAT(has(2), ElementsAre("over w2<client", "w3<w2"));
}

TEST_F(BroadcastTest, ASecondWordOfTheSameFailureChangesNothing) {
  wants(1);
  has(1);
  wants(2);
  failed(2);
  EXPECT_THAT(failed(2), IsEmpty());
}

TEST_F(BroadcastTest, AWorkerThatIsGoneHoldsNobodyUp) {
  wants(1);
  wants(2);
  EXPECT_THAT(gone(1), ElementsAre("over w1<client", "w2<client"));
  EXPECT_EQ(settled, 1u);
}

TEST_F(BroadcastTest, AWorkerThatWaitsAndIsGoneIsNotServed) {
  wants(1);
  wants(2);
  EXPECT_THAT(gone(2), IsEmpty());
  EXPECT_THAT(has(1), ElementsAre("over w1<client"));
  EXPECT_EQ(settled, 2u);
}

TEST_F(BroadcastTest, AWorkerThatIsSilentHoldsNobodyUpAndItsObjectStaysOnItsWay) {
  wants(1);
  wants(2);
  EXPECT_THAT(slow(1), ElementsAre("w2<client"));
  EXPECT_THAT(has(1), ElementsAre("over w1<client"));
}

TEST_F(BroadcastTest, AWorkerThatDroppedItIsNoSource) {
  wants(1);
  has(1);
  broadcast.dropped(object, place(1));
  EXPECT_THAT(wants(2), ElementsAre("w2<client"));
}

// All that had it are gone: the client gives it more often than its share, rather than not at all.
TEST_F(BroadcastTest, TheLastSourceIsNeverSpent) {
  for (int turn = 0; turn < 5; ++turn) {
    EXPECT_THAT(wants(1), ElementsAre("w1<client"));
    has(1);
    gone(1);
  }
}

TEST_F(BroadcastTest, AnObjectThatIsForgottenBeginsAnew) {
  wants(1);
  has(1);
  broadcast.forget(object);
  EXPECT_THAT(wants(2), ElementsAre("w2<client"));
}

}  // namespace
}  // namespace pounce::task
