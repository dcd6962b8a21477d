#include <algorithm>
#include <chrono>
#include <future>
#include <mutex>
#include <optional>
#include <set>

#include "device/communicator.h"
#include "device/transfer.h"
#include "gpu/device_speed.h"

namespace pounce::device {
namespace {

constexpr std::chrono::milliseconds kLimit{60'000};
constexpr int kRounds = 5;

// The ranks are threads of this process, and tell each other at a table.
class Table final : public Attendance {
 public:
  explicit Table(std::uint32_t ranks) : ranks_(ranks) {}
  void arrive(Rank rank, std::uint64_t step) override {
    const std::lock_guard held(mutex_);
    came_.insert({step, rank});
  }
  std::optional<std::vector<Rank>> missing(std::uint64_t step) override {
    const std::lock_guard held(mutex_);
    std::vector<Rank> missing;
    for (std::uint32_t i = 0; i < ranks_; ++i)
      if (!came_.contains({step, Rank{i}})) missing.push_back(Rank{i});
    return missing;
  }

 private:
  const std::uint32_t ranks_;
  std::mutex mutex_;  // guards came_
  std::set<std::pair<std::uint64_t, Rank>> came_;
};

struct Member {
  std::shared_ptr<Device> device;
  Buffer buffer;
  std::unique_ptr<Communicator> communicator;
};

template <class Act>
Result<void> each(std::vector<Member>& members, Act act) {
  std::vector<std::future<Result<void>>> under_way;
  for (Member& member : members)
    under_way.push_back(std::async(std::launch::async, [&member, act] { return act(member); }));
  Result<void> first;
  for (auto& one : under_way)
    if (auto done = one.get(); !done && first) first = failure(done.error());
  return first;
}

bool has(const Buffer& buffer, const Bytes& bytes) {
  Download download(buffer);
  std::size_t at = 0;
  for (;;) {
    const auto piece = download.next();
    if (!piece) return false;
    if (piece->empty()) return at == bytes.size();
    if (!std::equal(piece->begin(), piece->end(), bytes.begin() + static_cast<std::ptrdiff_t>(at))) return false;
    at += piece->size();
  }
}

Result<Member> member_of(Backend& backend, Communicator::Membership place, std::size_t size, Attendance& table) {
  auto device = Device::open(backend, Ordinal{place.rank.value});
  if (!device) return failure(device.error());
  auto buffer = (*device)->allocate(size, "device_speed");
  if (!buffer) return failure(buffer.error());
  auto communicator = std::make_unique<Communicator>(*device, place, table);
  return Member{*device, std::move(*buffer), std::move(communicator)};
}

}  // namespace

Result<nlohmann::json> broadcast_speed(Backend& backend, std::size_t size, std::uint32_t ranks) {
  const auto id = backend.new_group();
  if (!id) return failure(id.error());
  Table table(ranks);
  std::vector<Member> members;
  for (std::uint32_t i = 0; i < ranks; ++i) {
    auto member = member_of(backend, {*id, Rank{i}, ranks}, size, table);
    if (!member) return failure(member.error());
    members.push_back(std::move(*member));
  }
  if (auto joined = each(members, [](Member& one) { return one.communicator->join(kLimit); }); !joined)
    return failure(joined.error());
  const Bytes bytes = numbered(size, 3);
  Upload upload(members.front().buffer);
  if (auto sent = upload.write(bytes).and_then([&] { return upload.finish(); }); !sent) return failure(sent.error());

  double best = 0;
  for (int round = 0; round <= kRounds; ++round) {  // the first warms up
    const auto begin = std::chrono::steady_clock::now();
    auto done = each(members, [](Member& one) { return one.communicator->broadcast(one.buffer, Rank{0}, kLimit); });
    if (!done) return failure(done.error());
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (round > 0) best = std::max(best, gigabytes_a_second(size, took.count()));
  }
  const bool right = std::ranges::all_of(members, [&](const Member& one) { return has(one.buffer, bytes); });
  if (auto left = each(members, [](Member& one) { return one.communicator->leave(kLimit); }); !left)
    return failure(left.error());
  return nlohmann::json{{"bytes", size}, {"ranks", ranks}, {"gigabytes_a_second", best}, {"right", right}};
}

}  // namespace pounce::device
