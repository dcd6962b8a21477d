// Pools: one line of tasks, served by as many leases as they are worth. What pounced is told of each, and what a loss
// costs.
#include "unit/core/task/world.h"

namespace pounce::task {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

class PoolTest : public TaskTest {
 protected:
  PoolTest() { resources.leases_most = 4; }
  void SetUp() override { told(SessionOpened{}); }

  // A worker of its own lease for that request.
  Words serve(std::uint32_t request, int lease) {
    happens(WorkerGranted{RequestId{request}, place(lease), Epoch{1}, {}});
    return attach(lease);
  }
  Words when_due() {
    now = machine.next_deadline();
    return told(TimePassed{});
  }
  // Ten tasks, one lease, and its first task has been running for so long.
  void ten_tasks(Duration first) {
    for (int n = 1; n <= 10; ++n) submit(n);
    serve(1, 1);
    now += first;
    told(TimePassed{});
  }
  std::vector<Request> wanted() const {
    std::vector<Request> all = machine.demand();
    std::erase_if(all, [](const Request& request) { return request.waiting == 0; });
    return all;
  }
};

TEST_F(PoolTest, StartsWithOneLease) {
  submit(1);
  submit(2);
  EXPECT_EQ(wanted().size(), 1u);
}

TEST_F(PoolTest, TasksThatTakeLongBringMoreLeasesWhileTheyRun) {
  ten_tasks(100ms);
  EXPECT_EQ(wanted().size(), 1u);
  passes(10s);
  EXPECT_EQ(wanted().size(), 4u);
}

TEST_F(PoolTest, ATasksRequestsAreAllThatServeItsPool) {
  ten_tasks(100ms);
  passes(10s);
  EXPECT_THAT(machine.requests_of(task(2)), ElementsAre(RequestId{1}, RequestId{2}, RequestId{3}, RequestId{4}));
  EXPECT_THAT(machine.requests_of(task(99)), IsEmpty());
}

TEST_F(PoolTest, ItIsLookedAtAgainWithoutAnyNews) {
  ten_tasks(100ms);
  for (int look = 0; look < 20 && wanted().size() < 4; ++look) when_due();
  EXPECT_EQ(wanted().size(), 4u);
}

// Found by the clock of a test: nothing told pounced of them before it was told everything again, half a minute later.
TEST_F(PoolTest, FurtherLeasesAreToldThoughNothingElseHappens) {
  ten_tasks(100ms);
  told(TimePassed{});
  const TimePoint begun = now;
  Words words;
  while (now < begun + 10s && words != Words{"demand 3/1/1 3/0/0 3/0/0 3/0/0"})
    if (const Words said = when_due(); !said.empty()) words = said;
  EXPECT_LT(now, begun + 10s);
  EXPECT_THAT(words, ElementsAre("demand 3/1/1 3/0/0 3/0/0 3/0/0"));
}

TEST_F(PoolTest, MoreLeasesAreToldAtOnce) {
  ten_tasks(10s);
  EXPECT_THAT(when_due(), ElementsAre("demand 3/1/1 3/0/0 3/0/0 3/0/0"));
}

TEST_F(PoolTest, ShortWorkIsSpreadOverNobody) {
  for (int n = 1; n <= 10; ++n) submit(n);
  serve(1, 1);
  for (int n = 1; n <= 10; ++n) {
    now += 50ms;
    outcome(1, n);
  }
  EXPECT_EQ(machine.demand().size(), 1u);
}

// Found on a loaded machine: the first call takes as long as its worker's imports, which the others do not.
TEST_F(PoolTest, AFirstTaskThatWasSlowBringsNoFurtherLease) {
  for (int n = 1; n <= 100; ++n) submit(n);
  serve(1, 1);
  passes(800ms);
  for (int n = 1; n <= 3; ++n) {
    outcome(1, n);
    now += 1ms;
  }
  EXPECT_EQ(wanted().size(), 1u);
}

TEST_F(PoolTest, WhatWillStillBeSubmittedIsWorkToo) {
  for (int n = 1; n <= 8; ++n) submit(n);
  told(MoreToCome{resources, 1000});
  serve(1, 1);
  for (int n = 1; n <= 3; ++n) {
    now += 50ms;
    outcome(1, n);
  }
  EXPECT_EQ(wanted().size(), 4u);
  EXPECT_EQ(machine.workers_for(resources), 4u);
}

TEST_F(PoolTest, WhatWillNotBeSubmittedAfterAllIsNone) {
  for (int n = 1; n <= 8; ++n) submit(n);
  told(MoreToCome{resources, 1000});
  told(MoreToCome{resources, -2000});
  serve(1, 1);
  for (int n = 1; n <= 3; ++n) {
    now += 50ms;
    outcome(1, n);
  }
  EXPECT_EQ(wanted().size(), 1u);
}

TEST_F(PoolTest, AWorkerIsFreeThatWouldBeginTheNextTaskAtOnce) {
  EXPECT_EQ(machine.free_workers(resources), 0u);
  submit(1);
  for (int lease = 1; lease <= 4; ++lease) serve(1, lease);
  EXPECT_EQ(machine.free_workers(resources), 3u);
  silent(2);
  leaves(3, {});
  EXPECT_EQ(machine.free_workers(resources), 1u);
  resources.cpus = 7;
  EXPECT_EQ(machine.free_workers(resources), 0u);
}

// What is submitted a second time because it runs for long has to run elsewhere: nothing is said of the first, which is
// enough.
TEST_F(PoolTest, AWorkerThatRunsATaskGetsNoOtherWhereThePoolHasTwo) {
  submit(1);
  serve(1, 1);
  submit(2);
  serve(1, 2);
  outcome(2, 2);
  EXPECT_THAT(submit(3), ElementsAre("send t3 w2"));
  EXPECT_THAT(submit(4), IsEmpty());
}

TEST_F(PoolTest, HasTheSizeThatWasSaidLast) {
  ten_tasks(10s);
  resources.leases_most = 2;
  submit(11);
  passes(1s);
  EXPECT_EQ(wanted().size(), 2u);
  resources.leases_most = 8;
  told(MoreToCome{resources, 0});
  passes(1s);
  EXPECT_EQ(wanted().size(), 8u);
}

// The pool was not planned anew, and an invariant ended the program.
TEST_F(PoolTest, HasTheSizeThatAMovedTaskRequestsLast) {
  ten_tasks(10s);
  passes(1s);
  ASSERT_EQ(wanted().size(), 4u);
  resources.leases_most = 2;
  happens(TaskMoved{task(10), resources});
  passes(1s);
  EXPECT_EQ(wanted().size(), 2u);
}

TEST_F(PoolTest, EveryWorkerTakesFromTheOneLine) {
  ten_tasks(10s);
  EXPECT_THAT(serve(2, 2), ElementsAre("send t2 w2"));
  EXPECT_THAT(serve(3, 3), ElementsAre("send t3 w3"));
  EXPECT_THAT(outcome(1, 1), Contains("send t4 w1"));
}

TEST_F(PoolTest, WhatIsNotThereWhenTheLineIsEmptyIsWantedNoMore) {
  ten_tasks(10s);
  serve(2, 2);
  for (int n = 3; n <= 10; ++n) told(CancelRequested{task(n)});
  EXPECT_THAT(wanted(), IsEmpty());
  EXPECT_EQ(machine.demand().size(), 4u);
}

TEST_F(PoolTest, ALeaseThatHasNothingToDoIsNotNeededWhileAnotherWorks) {
  ten_tasks(10s);
  serve(2, 2);
  for (int n = 3; n <= 10; ++n) told(CancelRequested{task(n)});
  outcome(2, 2);
  passes(1s);
  const auto demand = machine.demand();
  EXPECT_EQ(demand.at(0).running, 1u);
  EXPECT_EQ(demand.at(1).waiting + demand.at(1).running, 0u);
}

TEST_F(PoolTest, TheLeastStayWhileThereIsWork) {
  resources.leases_least = 2;
  submit(1);
  EXPECT_EQ(wanted().size(), 2u);
  serve(1, 1);
  serve(2, 2);
  passes(1s);
  EXPECT_EQ(wanted().size(), 2u);
  outcome(1, 1);
  EXPECT_THAT(wanted(), IsEmpty());
}

TEST_F(PoolTest, ALostLeaseCostsWhatItRanAndNothingElse) {
  ten_tasks(10s);
  serve(2, 2);
  EXPECT_THAT(happens(LeaseLost{RequestId{2}, place(2).lease, {ErrorCode::kNodeFailed, "", {}, {}}}),
              ElementsAre("fail t2 node_failed", "disconnect w2"));
  EXPECT_EQ(machine.state(task(1)), TaskState::kSent);
  EXPECT_EQ(machine.state(task(3)), TaskState::kWaiting);
}

TEST_F(PoolTest, AFurtherLeaseThatIsRefusedFailsNothing) {
  ten_tasks(10s);
  EXPECT_THAT(happens(RequestRefused{RequestId{3}, {ErrorCode::kUnsatisfiable, "", {}, {}}}), IsEmpty());
  EXPECT_EQ(wanted().size(), 3u);
  passes(10s);
  EXPECT_EQ(wanted().size(), 3u);  // nor is another asked for in its place
}

TEST_F(PoolTest, NoFurtherLeaseIsAskedForWhileOneWaitsForALimitOfItsClass) {
  resources.leases_most = 8;
  ten_tasks(10s);
  const std::size_t before = wanted().size();
  told(MoreToCome{resources, 1000});
  told(RequestBound{RequestId{2}, true});
  passes(10s);
  EXPECT_EQ(wanted().size(), before);

  told(RequestBound{RequestId{2}, false});
  passes(10s);
  EXPECT_EQ(wanted().size(), 8u);
}

TEST_F(PoolTest, ALimitThatALeaseWaitedForBindsNobodyOnceItIsThere) {
  resources.leases_most = 8;
  ten_tasks(10s);
  told(RequestBound{RequestId{2}, true});
  serve(2, 2);
  told(MoreToCome{resources, 1000});
  passes(10s);
  EXPECT_EQ(wanted().size(), 8u);
}

TEST_F(PoolTest, TheLastOneThatIsRefusedFailsWhatWaits) {
  submit(1);
  EXPECT_THAT(happens(RequestRefused{RequestId{1}, {ErrorCode::kUnsatisfiable, "", {}, {}}}),
              ElementsAre("fail t1 unsatisfiable"));
}

TEST_F(PoolTest, NewWorkAsksAgainForWhatWasRefused) {
  submit(1);
  happens(RequestRefused{RequestId{1}, {ErrorCode::kUnsatisfiable, "", {}, {}}});
  submit(2);
  EXPECT_EQ(wanted().size(), 1u);
  EXPECT_EQ(machine.demand().at(0).generation, 1u);
}

// Found by the simulator: nothing was asked for any more once each had been refused.
TEST_F(PoolTest, ATaskThatRunsAgainAfterAllWereRefusedAsksAnew) {
  submit(1, 1);
  for (int n = 2; n <= 10; ++n) submit(n);
  serve(1, 1);
  passes(10s);
  for (std::uint32_t request = 2; request <= 4; ++request)
    happens(RequestRefused{RequestId{request}, {ErrorCode::kUnsatisfiable, "", {}, {}}});
  lease_ends(1, ErrorCode::kLeaseEnded);
  happens(RequestRefused{RequestId{1}, {ErrorCode::kUnsatisfiable, "", {}, {}}});
  submit(11);
  EXPECT_EQ(wanted().size(), 1u);
}

TEST_F(PoolTest, ALeaseThatWasLongInComingMakesFurtherOnesWorthLess) {
  for (int n = 1; n <= 10; ++n) submit(n);
  now += 10min;
  serve(1, 1);
  passes(10s);
  EXPECT_EQ(wanted().size(), 1u);
}

TEST_F(PoolTest, ATaskThatWaitsIsShownTheLeaseThatComes) {
  ten_tasks(10s);
  EXPECT_EQ(machine.request_of(task(1)), RequestId{1});
  EXPECT_EQ(machine.request_of(task(9)), RequestId{2});
}

// ---- workers that fit on no node together ----

class ApartTest : public PoolTest {
 protected:
  ApartTest() {
    resources = {};
    resources.workers = 4;
  }
  const Error too_much{.code = ErrorCode::kUnsatisfiable, .text = "", .remedy = "", .context = {}, .fits_apart = true};
};

TEST_F(ApartTest, BecomeAPoolOfAsManyForWhatWaitsAndForWhatComes) {
  submit(1);
  submit(2);
  EXPECT_THAT(happens(RequestRefused{RequestId{1}, too_much}), IsEmpty());
  EXPECT_EQ(machine.demand().at(0).waiting, 0u);
  submit(3);
  EXPECT_EQ(machine.request_of(task(1)), RequestId{2});
  EXPECT_EQ(machine.request_of(task(3)), RequestId{2});
  EXPECT_EQ(machine.requests_of(task(3)), machine.requests_of(task(1)));
  EXPECT_EQ(wanted().size(), 1u);
}

TEST_F(ApartTest, RunOnAsManyLeasesAsTheWorkIsWorth) {
  for (int n = 1; n <= 10; ++n) submit(n);
  told(RequestRefused{RequestId{1}, too_much});
  EXPECT_THAT(serve(2, 1), ElementsAre("send t1 w1"));
  passes(60s);
  EXPECT_EQ(wanted().size(), 4u);
}

TEST_F(ApartTest, AreCountedForWhoeverAsksHowManyThereAre) {
  submit(1);
  told(RequestRefused{RequestId{1}, too_much});
  serve(2, 1);
  EXPECT_EQ(machine.workers_for(resources), 1u);
}

TEST_F(ApartTest, FailWhereTheyDoNotFitEither) {
  submit(1);
  told(RequestRefused{RequestId{1}, too_much});
  EXPECT_THAT(happens(RequestRefused{RequestId{2}, too_much}), ElementsAre("fail t1 unsatisfiable"));
}

}  // namespace pounce::task
