// What every road for data promises, with the same cases on each: memory handed over on one machine, the bulk lane, and
// ZeroMQ.
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <tuple>

#include "contract/lanes/world.h"

namespace pounce::lanes {
namespace {

constexpr std::size_t kLarge = 64 * kMiB + 3;

class EveryLane : public LanesTest, public testing::WithParamInterface<Road> {
 protected:
  void SetUp() override {
    LanesTest::SetUp();
    begin(GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(Roads, EveryLane, testing::Values(Road::kMemory, Road::kTls, Road::kZeroMq), road_name);

// ---- sizes --------------------------------------------------------------------------------------------------------

constexpr std::size_t kOverFourGiB = (std::size_t{1} << 32) + 1;

class EverySize : public LanesTest, public testing::WithParamInterface<std::tuple<Road, std::size_t>> {
 protected:
  void SetUp() override {
    size = std::get<1>(GetParam());
    if (size == kOverFourGiB && std::getenv("POUNCE_LONG_RUN") == nullptr)
      GTEST_SKIP() << "4 GiB there and back: POUNCE_LONG_RUN=1 (tests/run --long)";
    LanesTest::SetUp();
    begin(std::get<0>(GetParam()));
    if (size == kOverFourGiB) patience = 200s;
  }
  void TearDown() override {
    if (engine) LanesTest::TearDown();
  }
  std::size_t size = 0;
};
INSTANTIATE_TEST_SUITE_P(
    Roads, EverySize,
    testing::Combine(testing::Values(Road::kMemory, Road::kTls, Road::kZeroMq),
                     testing::Values(0, 1, kMiB - 1, kMiB, kMiB + 1, data::kWorthTheLane - 1, data::kWorthTheLane,
                                     data::kWorthTheLane + 1, kLarge, kOverFourGiB)),
    [](const auto& info) { return name_of(std::get<0>(info.param)) + std::to_string(std::get<1>(info.param)); });

TEST_P(EverySize, ArrivesAsItWasAndComesBackAsItWas) {
  const auto there = Source::marked(size, 1), back = Source::marked(size, 2);
  bool right = false;
  run = [&](const worker::Job& job) {
    right = job.objects.size() == 1 && there->is(job.objects.front().buffers.front().bytes);
    return returned(back);
  };
  const TaskId task = submit({hold(there)});

  grant();

  const client::Ended& end = end_of(task);
  EXPECT_TRUE(end.ok) << end.error.text;
  EXPECT_TRUE(right);
  ASSERT_EQ(end.buffers.size(), 1u);
  EXPECT_TRUE(back->is(end.buffers.front().bytes));
  expect_road(size);
}

// ---- to a device --------------------------------------------------------------------------------------------------

class ToADevice : public EverySize {};
INSTANTIATE_TEST_SUITE_P(Roads, ToADevice,
                         testing::Combine(testing::Values(Road::kMemory, Road::kTls, Road::kZeroMq),
                                          testing::Values(0, 1, kMiB + 1, kLarge)),
                         [](const auto& info) {
                           return name_of(std::get<0>(info.param)) + std::to_string(std::get<1>(info.param));
                         });

TEST_P(ToADevice, LiesThereBeforeACallThatTakesItBegins) {
  const auto source = Source::marked(size, 1);
  const auto object = random_id<ObjectId>();
  engine->hold_object(object, {own_bytes("pickle"), {{source->bytes(), source}}, "host"}, false);
  bool right = false;
  run = [&](const worker::Job& job) {
    const auto& placed = job.objects.at(0).on_device;
    right = placed && placed->buffers.size() == 1 && source->is({placed->buffers[0].data(), placed->buffers[0].size()});
    return returned({});
  };
  const TaskId task = submit({object});

  grant();

  const client::Ended& end = end_of(task);
  EXPECT_TRUE(end.ok) << end.error.text;
  EXPECT_TRUE(right);
}

TEST_P(EveryLane, ACallWhoseObjectFitsOnNoDeviceEndsWithWhatIsMissing) {
  const auto source = Source::marked(kLarge, 1);
  const auto object = random_id<ObjectId>();
  engine->hold_object(object, {own_bytes("pickle"), {{source->bytes(), source}}, "host:4000"}, false);
  const TaskId task = submit({object}), next = submit({});

  grant();

  EXPECT_EQ(end_of(task).error.code, ErrorCode::kDeviceUnavailable);
  EXPECT_TRUE(end_of(next).ok) << "the worker goes on";
}

// ---- order --------------------------------------------------------------------------------------------------------

TEST_P(EveryLane, ManyAtOnceArriveWholeInWhateverOrderTheyAreAskedFor) {
  constexpr std::size_t kMany = 16;
  std::vector<std::shared_ptr<const Source>> sources;
  std::vector<ObjectId> objects;
  for (std::size_t i = 0; i < kMany; ++i) {
    sources.push_back(Source::marked(1 + i * i * 100'003, i));  // to 22 MB
    objects.push_back(hold(sources.back()));
  }
  std::vector<std::size_t> wrong;
  run = [&](const worker::Job& job) {
    for (std::size_t i = 0; i < kMany; ++i)
      if (!sources[i]->is(job.objects.at(kMany - 1 - i).buffers.front().bytes)) wrong.push_back(i);
    return returned({});
  };
  std::vector<TaskId> tasks;
  for (std::size_t i = 0; i < 4; ++i) tasks.push_back(submit({objects.rbegin(), objects.rend()}));

  grant();

  for (const TaskId& task : tasks) EXPECT_TRUE(end_of(task).ok) << end_of(task).error.text;
  EXPECT_TRUE(wrong.empty()) << wrong.size() << " arrived as something else";
}

// ---- cuts ---------------------------------------------------------------------------------------------------------

TEST_P(EveryLane, AnObjectThatIsCutInTheMiddleArrivesAsItWasAndItsTaskRunsOnce) {
  const auto source = Source::marked(kLarge, 5);
  std::size_t runs = 0, right = 0;
  run = [&](const worker::Job& job) {
    ++runs;
    right += source->is(job.objects.front().buffers.front().bytes);
    return returned({});
  };
  const TaskId task = submit({hold(source)});
  grant();
  until([&] { return moved() > 8 * kMiB; });
  ASSERT_EQ(runs, 0u) << "the middle is over";

  ASSERT_GE(cut_connections(), 2u);

  EXPECT_TRUE(end_of(task).ok) << end_of(task).error.text;
  EXPECT_EQ(runs, 1u);
  EXPECT_EQ(right, 1u);
}

TEST_P(EveryLane, AResultThatIsCutInTheMiddleComesAsItWasOfOneRun) {
  const auto source = Source::marked(kLarge, 6);
  std::size_t runs = 0;
  run = [&](const worker::Job&) {
    ++runs;
    return returned(source);
  };
  const TaskId task = submit();
  grant();
  until([&] { return runs == 1 && moved() > 8 * kMiB; });
  ASSERT_EQ(ended(task), nullptr) << "the middle is over";

  ASSERT_GE(cut_connections(), 2u);

  const client::Ended& end = end_of(task);
  EXPECT_TRUE(end.ok) << end.error.text;
  EXPECT_EQ(runs, 1u);
  ASSERT_EQ(end.buffers.size(), 1u);
  EXPECT_TRUE(source->is(end.buffers.front().bytes));
}

// ---- a reader that is slow, or that has no memory -----------------------------------------------------------------

constexpr std::size_t kPieces = 16, kPiece = 32 * kMiB;
constexpr std::size_t kMostInFlight = 192 * kMiB;  // ZeroMQ: 128 messages of 1 MiB, and what the kernel takes

class SlowReader : public EveryLane {
 protected:
  void SetUp() override {
    EveryLane::SetUp();
    if (IsSkipped()) return;
    const TaskId first = submit();
    grant();
    ASSERT_TRUE(end_of(first).ok);  // all connections stand
    for (std::size_t i = 0; i < kPieces; ++i) sources.push_back(std::make_shared<const CountedSource>(kPiece));
  }
  std::size_t read() const {  // of what is sent, by anybody
    return std::accumulate(sources.begin(), sources.end(), std::size_t{0},
                           [](auto sum, const auto& one) { return sum + one->bytes_read(); });
  }
  // Only one side goes on, until it does nothing any more.
  template <class Turn>
  void turn_until_quiet(Turn turn) {
    TimePoint moved_at = Clock::now();
    for (std::size_t before = read(); Clock::now() < moved_at + 200ms; before = read()) {
      turn();
      if (read() != before) moved_at = Clock::now();
    }
  }
  std::vector<std::shared_ptr<const CountedSource>> sources;
};
INSTANTIATE_TEST_SUITE_P(Roads, SlowReader, testing::Values(Road::kMemory, Road::kTls, Road::kZeroMq), road_name);

TEST_P(SlowReader, AWorkerThatDoesNotReadIsSentLittleAndGetsTheRestLater) {
  std::vector<ObjectId> objects;
  for (const auto& source : sources) objects.push_back(hold(source));
  bool whole = false;
  run = [&](const worker::Job& job) {
    whole = job.objects.size() == kPieces && std::ranges::all_of(job.objects, [](const auto& one) {
              return one.buffers.front().bytes.size() == kPiece;
            });
    return returned({});
  };
  const TaskId task = submit(objects);

  turn_until_quiet([&] { client_turn(); });

  EXPECT_LE(read(), kMostInFlight);
  EXPECT_TRUE(end_of(task).ok) << end_of(task).error.text;
  EXPECT_TRUE(whole);
  EXPECT_EQ(read(), kPieces * kPiece);
}

// As memory a result is copied whole before it is handed over: no more than one task's waits for a client at a time.
TEST_P(SlowReader, AClientThatDoesNotReadIsSentLittleAndGetsTheRestLater) {
  run = [&](const worker::Job&) {
    worker::JobResult result = returned({});
    for (const auto& source : sources) result.buffers.push_back(Bytes{source->bytes(), source});
    return result;
  };
  const TaskId task = submit(), next = submit();
  client_turn();

  turn_until_quiet([&] { worker_turn(); });

  EXPECT_LE(read(), road == Road::kMemory ? kPieces * kPiece : kMostInFlight);
  for (const TaskId& one : {task, next}) {
    ASSERT_TRUE(end_of(one).ok) << end_of(one).error.text;
    EXPECT_EQ(end_of(one).buffers.size(), kPieces);
    EXPECT_TRUE(std::ranges::all_of(end_of(one).buffers,
                                    [](const WritableBytes& buffer) { return buffer.bytes.size() == kPiece; }));
  }
  EXPECT_EQ(read(), kPieces * kPiece);
}

std::size_t memory_of_machine() {
  return static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}
// ZeroMQ sends some of what nobody has the memory for before it hears of that.
constexpr std::size_t kMostAddresses =
    (std::size_t{1} << 46) + (std::size_t{1} << 40);  // a process has them once, not twice

TEST_P(EveryLane, AWorkerWithoutMemorySaysSoAndHasNothingOfIt) {
  bool ran = false;
  run = [&](const worker::Job&) {
    ran = true;
    return returned({});
  };
  const auto zeros = std::make_shared<const Source>(2 * memory_of_machine());
  const TaskId task = submit({hold(zeros->bytes(), zeros)});

  grant();

  EXPECT_FALSE(end_of(task).ok);
  EXPECT_EQ(end_of(task).error.code, ErrorCode::kOutOfMemory) << end_of(task).error.text;
  EXPECT_FALSE(ran);
  EXPECT_EQ(object_memory(), 0u);
}

TEST_P(EveryLane, AClientWithoutMemoryForAResultSaysSoAndGetsTheNextOne) {
  const auto source = Source::marked(kLarge, 7);
  const auto zeros = std::make_shared<const Source>(kMostAddresses);
  std::size_t runs = 0;
  run = [&](const worker::Job&) {
    if (runs++ > 0) return returned(source);
    worker::JobResult result = returned({});
    result.buffers.push_back(Bytes{zeros->bytes(), zeros});
    return result;
  };
  const TaskId task = submit();

  grant();

  EXPECT_FALSE(end_of(task).ok);
  EXPECT_EQ(end_of(task).error.code, ErrorCode::kTooLarge) << end_of(task).error.text;
  const TaskId next = submit();
  ASSERT_TRUE(end_of(next).ok) << end_of(next).error.text;
  EXPECT_TRUE(source->is(end_of(next).buffers.front().bytes));
}

}  // namespace
}  // namespace pounce::lanes
