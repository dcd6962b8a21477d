// Devices of a group: what one has is copied to all, and whoever does not come is named. On each kind of device.
#include <gmock/gmock.h>

#include <array>
#include <condition_variable>
#include <future>
#include <set>
#include <thread>

#include "contract/device/kinds.h"
#include "device/communicator.h"
#include "device/transfer.h"

namespace pounce::device {

void PrintTo(const Result<void>& result, std::ostream* out) { *out << (result ? "done" : result.error().text); }

namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kRanks = 3;
constexpr auto kLong = 60'000ms, kShort = 20ms;  // a limit that is not reached, and one that is

// The ranks' own road, here a table.
class Board final : public Attendance {
 public:
  void arrive(Rank rank, std::uint64_t step) override {
    const std::lock_guard held(mutex_);
    came_.insert({step, rank});
    changed_.notify_all();
  }
  std::optional<std::vector<Rank>> missing(std::uint64_t step) override {
    const std::lock_guard held(mutex_);
    if (knows_nothing) return std::nullopt;
    std::vector<Rank> missing;
    for (std::uint32_t i = 0; i < kRanks; ++i)
      if (!came_.contains({step, Rank{i}})) missing.push_back(Rank{i});
    return missing;
  }
  bool knows_nothing = false;
  void await(Rank rank, std::uint64_t step) {
    std::unique_lock held(mutex_);
    changed_.wait(held, [&] { return came_.contains({step, rank}); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::pair<std::uint64_t, Rank>> came_;
};

class DeviceGroup : public OnEachKind {
 protected:
  struct Member {
    std::shared_ptr<Device> device;
    std::optional<Buffer> buffer;
    std::unique_ptr<Communicator> communicator;
  };

  void SetUp() override {
    OnEachKind::SetUp();
    if (IsSkipped()) return;
    if (const auto devices = backend_->devices(); devices && devices->size() < kRanks)
      GTEST_SKIP() << "not run: " << kRanks << " devices are needed, " << devices->size() << " are here";
    const auto id = backend_->new_group();
    ASSERT_TRUE(id) << id.error().text;
    for (std::uint32_t i = 0; i < kRanks; ++i) {
      Member& member = members_[i];
      member.device = *Device::open(*backend_, Ordinal{i});
      member.buffer = *member.device->allocate(kSize, "test");
      member.communicator =
          std::make_unique<Communicator>(member.device, Communicator::Membership{*id, Rank{i}, kRanks}, board_);
    }
  }
  void TearDown() override {
    members_ = {};
    OnEachKind::TearDown();
  }

  // What each of these ranks does, side by side; how it ended for each.
  template <class Act>
  std::vector<Result<void>> each(std::vector<std::uint32_t> ranks, Act act) {
    std::vector<std::future<Result<void>>> under_way;
    for (const std::uint32_t rank : ranks)
      under_way.push_back(std::async(std::launch::async,
                                     [this, rank, act] { return act(*members_[rank].communicator, members_[rank]); }));
    std::vector<Result<void>> results;
    for (auto& one : under_way) results.push_back(one.get());
    return results;
  }
  std::vector<Result<void>> join(std::vector<std::uint32_t> ranks, std::chrono::milliseconds limit = kLong) {
    return each(std::move(ranks), [limit](Communicator& one, Member&) { return one.join(limit); });
  }
  std::vector<Result<void>> broadcast(std::vector<std::uint32_t> ranks, Rank from,
                                      std::chrono::milliseconds limit = kLong) {
    return each(std::move(ranks), [limit, from](Communicator& one, Member& member) {
      return one.broadcast(*member.buffer, from, limit);
    });
  }

  static Result<void> upload(const Buffer& to, std::span<const std::byte> bytes) {
    Upload upload(to);
    return upload.write(bytes).and_then([&] { return upload.finish(); });
  }

  static constexpr std::size_t kSize = 300'001;
  const std::vector<std::uint32_t> all_ = {0, 1, 2};
  Board board_;
  std::array<Member, kRanks> members_;
};

INSTANTIATE_TEST_SUITE_P(, DeviceGroup, testing::Values(Kind::kHost, Kind::kFakeCuda, Kind::kCuda),
                         testing::PrintToStringParamName());

MATCHER(Succeeded, "succeeded") { return arg.has_value(); }
MATCHER_P(FailedWith, code, "failed as it should") { return !arg && arg.error().code == code; }

TEST_P(DeviceGroup, GivesAllWhatOneHas) {
  ASSERT_THAT(join(all_), testing::Each(Succeeded()));
  for (const std::uint32_t from : {1u, 0u, 2u}) {
    const auto bytes = pattern(kSize, static_cast<std::uint8_t>(from));
    ASSERT_TRUE(upload(*members_[from].buffer, bytes));

    ASSERT_THAT(broadcast(all_, Rank{from}), testing::Each(Succeeded()));

    for (const Member& member : members_) EXPECT_EQ(checksum_on_device(GetParam(), *member.buffer), checksum(bytes));
  }
  EXPECT_THAT(each(all_, [](Communicator& one, Member&) { return one.leave(kLong); }), testing::Each(Succeeded()));
}

TEST_P(DeviceGroup, NamesTheRankThatDidNotJoin) {
  const auto joined = join({0}, kShort);

  ASSERT_THAT(joined[0], FailedWith(ErrorCode::kTimeout));
  EXPECT_EQ(joined[0].error().text, "ranks 1, 2 of 3 did not come to join the group within 20 ms");
  EXPECT_EQ(joined[0].error().context.at("missing"), "ranks 1, 2");
}

// One of them is first, and ends it for the other.
TEST_P(DeviceGroup, NamesTheRankThatDidNotJoinToAllWhoDid) {
  const auto joined = join({0, 2}, kShort);

  EXPECT_THAT(joined, testing::Contains(FailedWith(ErrorCode::kTimeout)));
  for (const Result<void>& one : joined) {
    ASSERT_FALSE(one);
    EXPECT_THAT(one.error().text, testing::HasSubstr("rank 1 of 3 did not come"));
    EXPECT_EQ(one.error().context.at("missing"), "rank 1");
  }
}

TEST_P(DeviceGroup, NamesTheRanksThatDidNotBroadcast) {
  ASSERT_THAT(join(all_), testing::Each(Succeeded()));

  const auto sent = broadcast({0}, Rank{0}, kShort);

  ASSERT_THAT(sent[0], FailedWith(ErrorCode::kTimeout));
  EXPECT_EQ(sent[0].error().text, "ranks 1, 2 of 3 did not come to broadcast within 20 ms");
}

TEST_P(DeviceGroup, LeavesItToOthersToNameWhoIsMissingWhereItIsNotKnown) {
  board_.knows_nothing = true;

  const auto joined = join({0}, kShort);

  ASSERT_THAT(joined[0], FailedWith(ErrorCode::kTimeout));
  EXPECT_EQ(joined[0].error().text, "not all ranks came to join the group within 20 ms");
}

TEST_P(DeviceGroup, IsStoppedWhileARankIsWaitedFor) {
  ASSERT_THAT(join(all_), testing::Each(Succeeded()));
  auto waiting = std::async(std::launch::async, [this] { return broadcast({1}, Rank{0}); });
  board_.await(Rank{1}, 2);

  members_[1].communicator->stop();

  EXPECT_THAT(waiting.get(), testing::ElementsAre(FailedWith(ErrorCode::kCancelled)));
  EXPECT_THAT(members_[1].communicator->broadcast(*members_[1].buffer, Rank{0}, kLong), FailedWith(ErrorCode::kClosed));
}

TEST_P(DeviceGroup, ThatWasStoppedIsNotJoined) {
  members_[0].communicator->stop();

  EXPECT_THAT(join({0}), testing::ElementsAre(FailedWith(ErrorCode::kCancelled)));
}

// NCCL tells nobody of the same machine: there they wait until their time is over.
TEST_P(DeviceGroup, EndsForAllWhenOneGivesUp) {
  const bool hear_of_it = GetParam() != Kind::kCuda;
  ASSERT_THAT(join(all_), testing::Each(Succeeded()));
  auto waiting =
      std::async(std::launch::async, [&] { return broadcast({0, 1}, Rank{0}, hear_of_it ? kLong : kShort); });
  board_.await(Rank{0}, 2);
  board_.await(Rank{1}, 2);

  members_[2].communicator.reset();

  EXPECT_THAT(waiting.get(), testing::Each(FailedWith(hear_of_it ? ErrorCode::kLost : ErrorCode::kTimeout)));
}

TEST_P(DeviceGroup, KnowsItsRanks) {
  ASSERT_THAT(join(all_), testing::Each(Succeeded()));

  EXPECT_THAT(members_[0].communicator->broadcast(*members_[0].buffer, Rank{3}, kLong),
              FailedWith(ErrorCode::kBadRequest));
  EXPECT_THAT(members_[0].communicator->join(kLong), FailedWith(ErrorCode::kBadRequest));
}

TEST_P(DeviceGroup, HasNoRankBeyondItsLast) {
  Communicator beyond(members_[0].device, {*backend_->new_group(), Rank{kRanks}, kRanks}, board_);

  EXPECT_THAT(beyond.join(kLong), FailedWith(ErrorCode::kBadRequest));
}

TEST_P(DeviceGroup, BroadcastsTheMemoryOfEachRanksOwnDevice) {
  ASSERT_THAT(join(all_), testing::Each(Succeeded()));

  EXPECT_THAT(members_[0].communicator->broadcast(*members_[1].buffer, Rank{0}, kLong),
              FailedWith(ErrorCode::kBadRequest));
}

TEST_P(DeviceGroup, KeepsNoCopyWaitingWhileARankIsWaitedFor) {
  auto waiting = std::async(std::launch::async, [this] { return join({0}); });
  board_.await(Rank{0}, 1);
  const auto bytes = pattern(kSize);

  EXPECT_TRUE(upload(*members_[0].buffer, bytes));

  EXPECT_EQ(checksum_on_device(GetParam(), *members_[0].buffer), checksum(bytes));
  members_[0].communicator->stop();
  EXPECT_THAT(waiting.get(), testing::ElementsAre(FailedWith(ErrorCode::kCancelled)));
}

class DeviceAlone : public OnEachKind {};

INSTANTIATE_TEST_SUITE_P(, DeviceAlone, testing::Values(Kind::kHost, Kind::kFakeCuda, Kind::kCuda),
                         testing::PrintToStringParamName());

TEST_P(DeviceAlone, IsAGroupToo) {
  const auto id = backend_->new_group();
  if (GetParam() == Kind::kCuda && !id) GTEST_SKIP() << "not run: " << id.error().text;
  const auto device = *Device::open(*backend_, Ordinal{0});
  const Buffer buffer = *device->allocate(1000, "test");
  const auto bytes = pattern(buffer.size());
  Upload upload(buffer);
  ASSERT_TRUE(upload.write(bytes) && upload.finish());
  Board board;
  Communicator alone(device, {*id, Rank{0}, 1}, board);

  EXPECT_THAT(alone.join(kLong), Succeeded());
  EXPECT_THAT(alone.broadcast(buffer, Rank{0}, kLong), Succeeded());
  EXPECT_THAT(alone.leave(kLong), Succeeded());

  EXPECT_EQ(checksum_on_device(GetParam(), buffer), checksum(bytes));
}

}  // namespace
}  // namespace pounce::device
