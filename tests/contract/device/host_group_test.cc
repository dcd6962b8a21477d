// A group whose ranks are processes, and what is left of it. The rest of what it promises: group_test.cc.
#include "device/host_group.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "base/clock.h"
#include "base/random_id.h"
#include "contract/device/kinds.h"

namespace pounce::device {
namespace {

constexpr std::size_t kSize = 2 * HostMeeting::kPieceBytes + 12'345;  // no whole number of pieces

void until_done(Group& group) {
  const TimePoint deadline = Clock::now() + std::chrono::seconds(60);
  for (auto done = group.is_done(); !done || !*done; done = group.is_done())
    if (!done || Clock::now() > deadline) throw std::runtime_error(done ? "too late" : done.error().text);
}

void received(const GroupId& id, Rank rank, std::uint32_t ranks, std::span<const std::byte> expected) {
  auto group = *host_group(id, rank, ranks);
  until_done(*group);
  std::vector<std::byte> into(expected.size());
  if (!group->broadcast(into.data(), into.size(), Rank{0})) throw std::runtime_error("no broadcast");
  until_done(*group);
  if (!std::ranges::equal(into, expected)) throw std::runtime_error("other bytes came");
  if (!group->leave()) throw std::runtime_error("no leave");
  until_done(*group);
}

// 0: it ended as it should.
pid_t process_of(const std::function<void()>& act) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  try {
    act();
  } catch (...) {
    ::_exit(1);
  }
  ::_exit(0);
}

std::string path_of(const GroupId& id) { return "/dev/shm/pounce-group-" + id.hex().substr(0, 32); }

TEST(HostGroupTest, GivesProcessesWhatOneOfThemHas) {
  constexpr std::uint32_t kRanks = 3;
  const auto id = random_id<GroupId>();
  auto bytes = pattern(kSize);
  std::vector<pid_t> others;

  for (std::uint32_t rank = 1; rank < kRanks; ++rank)
    others.push_back(process_of([&] { received(id, Rank{rank}, kRanks, bytes); }));
  auto group = *host_group(id, Rank{0}, kRanks);
  until_done(*group);
  EXPECT_FALSE(std::filesystem::exists(path_of(id))) << "all have found it";
  ASSERT_TRUE(group->broadcast(bytes.data(), bytes.size(), Rank{0}));
  until_done(*group);
  ASSERT_TRUE(group->leave());
  until_done(*group);

  for (const pid_t other : others) {
    int status = -1;
    ::waitpid(other, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST(HostGroupTest, LeavesNoFileWhereNotAllCame) {
  const auto id = random_id<GroupId>();

  {
    const auto group = host_group(id, Rank{0}, 2);
  }

  EXPECT_FALSE(std::filesystem::exists(path_of(id)));
}

TEST(HostGroupTest, IsItsUsersAlone) {
  const auto id = random_id<GroupId>();
  const auto group = host_group(id, Rank{0}, 2);

  EXPECT_EQ(std::filesystem::status(path_of(id)).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST(HostGroupTest, FollowsNoLink) {
  const auto id = random_id<GroupId>();
  const std::filesystem::path elsewhere =
      std::filesystem::temp_directory_path() / ("elsewhere-" + id.hex().substr(0, 16));
  std::filesystem::create_symlink(elsewhere, path_of(id));

  const auto group = host_group(id, Rank{0}, 2);

  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().code, ErrorCode::kDeviceFailed);
  EXPECT_FALSE(std::filesystem::exists(elsewhere));
  std::filesystem::remove(path_of(id));
}

TEST(HostGroupTest, RefusesARankThatIsThereTwiceAndGoesOnWithTheFirst) {
  const auto id = random_id<GroupId>();
  auto first = *host_group(id, Rank{0}, 1);

  const auto second = host_group(id, Rank{0}, 1);

  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kBadRequest);
  EXPECT_EQ(first->is_done(), true);
}

TEST(HostGroupTest, RefusesOneWithAnotherSize) {
  const auto id = random_id<GroupId>();
  auto sender = *host_group(id, Rank{0}, 2), reader = *host_group(id, Rank{1}, 2);
  std::vector<std::byte> memory(100);
  EXPECT_EQ(sender->is_done(), false);
  EXPECT_EQ(reader->is_done(), true);
  EXPECT_EQ(sender->is_done(), true);

  ASSERT_TRUE(sender->broadcast(memory.data(), 100, Rank{0}));
  ASSERT_TRUE(reader->broadcast(memory.data(), 99, Rank{0}));

  const auto done = reader->is_done();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().text, "this rank has room for 99 bytes, 100 are sent");
}

}  // namespace
}  // namespace pounce::device
