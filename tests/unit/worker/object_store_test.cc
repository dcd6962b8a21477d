#include "worker/interpreter/object_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "device/devices.h"
#include "ids.h"

namespace pounce::worker {
namespace {

using Receipt = ObjectStore::Receipt;

const SessionId kAlice = id_of<SessionId>(1), kOther = id_of<SessionId>(2);
const ObjectId kObject = id_of<ObjectId>(7);
const std::uint64_t kMoreThanThereIs = std::uint64_t{2} * static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                                       static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));

std::string text(const WritableBytes& buffer) { return std::string(buffer.text()); }

class ObjectStoreTest : public testing::Test {
 protected:
  Result<Receipt> announce(const SessionId& session, std::vector<std::uint64_t> sizes, bool pickle_follows = false) {
    return store.announce(session, {kObject, pickle_follows ? "" : "pickle", std::move(sizes), pickle_follows});
  }
  Result<Receipt> chunk(const SessionId& session, std::uint32_t buffer, std::uint64_t offset,
                        const std::string& bytes) {
    return store.chunk(session, kObject, {buffer, offset}, std::as_bytes(std::span(bytes)));
  }
  void hold(const SessionId& session) {
    ASSERT_TRUE(announce(session, {3}).has_value());
    ASSERT_EQ(chunk(session, 0, 0, "abc"), Receipt::kWhole);
  }

  ObjectStore store{std::size_t{64} << 20};
};

TEST_F(ObjectStoreTest, IsWholeAtOnceWithoutBuffers) {
  EXPECT_EQ(announce(kAlice, {}), Receipt::kWhole);
  EXPECT_EQ(text(store.use(kObject)->pickle), "pickle");
}

TEST_F(ObjectStoreTest, IsWholeAtOnceWhenAllItsBuffersAreEmpty) {
  EXPECT_EQ(announce(kAlice, {0, 0}), Receipt::kWhole);
}

TEST_F(ObjectStoreTest, PutsChunksTogetherAndHandsOutTheBuffersInOrder) {
  EXPECT_EQ(announce(kAlice, {4, 0, 2}), Receipt::kMore);
  EXPECT_EQ(chunk(kAlice, 0, 0, "ab"), Receipt::kMore);
  EXPECT_EQ(chunk(kAlice, 0, 2, "cd"), Receipt::kMore);
  EXPECT_FALSE(store.has(kObject));
  EXPECT_EQ(chunk(kAlice, 2, 0, "ef"), Receipt::kWhole);
  const auto use = store.use(kObject);
  ASSERT_EQ(use->buffers.size(), 3u);
  EXPECT_EQ(text(use->buffers[0]) + "|" + text(use->buffers[1]) + "|" + text(use->buffers[2]), "abcd||ef");
}

TEST_F(ObjectStoreTest, TakesThePickleFromTheFirstBufferWhenItFollows) {
  announce(kAlice, {2, 3}, true);
  chunk(kAlice, 0, 0, "pi");
  chunk(kAlice, 1, 0, "abc");
  const auto use = store.use(kObject);
  EXPECT_EQ(text(use->pickle), "pi");
  ASSERT_EQ(use->buffers.size(), 1u);
  EXPECT_EQ(text(use->buffers[0]), "abc");
}

TEST_F(ObjectStoreTest, ShowsThePartsAsTheyWereAnnouncedToTheSessionThatHoldsThem) {
  const std::string large(300'000, 'b');
  announce(kAlice, {2, large.size()}, true);
  chunk(kAlice, 0, 0, "pi");
  chunk(kAlice, 1, 0, large);

  const auto parts = store.parts(kAlice, kObject);

  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(parts[0].bytes.data()), parts[0].bytes.size()), "pi");
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(parts[1].bytes.data()), parts[1].bytes.size()), large);
  EXPECT_TRUE(store.parts(kOther, kObject).empty());
}

TEST_F(ObjectStoreTest, HasWhatWasMadeHereFromMemoryOfItsOwn) {
  std::shared_ptr<memory::MemoryBlock> block = *store.pool().take(300'000);
  ASSERT_TRUE(block->write(0, std::as_bytes(std::span("abc", 3))));
  ObjectOffer offer{kObject, "pickle", {3}, false, std::move(block), {0}};
  EXPECT_EQ(store.announce(kAlice, std::move(offer)), Receipt::kWhole);
  EXPECT_EQ(text(store.use(kObject)->buffers.front()), "abc");
  EXPECT_EQ(store.parts(kAlice, kObject).size(), 1u);

  store.drop(kAlice, kObject);

  EXPECT_GE(store.kept_bytes(), 300'000u) << "its memory is the next one's";
}

TEST_F(ObjectStoreTest, RefusesAPickleThatFollowsWithoutASize) { EXPECT_FALSE(announce(kAlice, {}, true).has_value()); }

TEST_F(ObjectStoreTest, RefusesGapsRepeatsAndOverrunsAndStartsAnewWithTheNextAnnouncement) {
  const std::tuple<std::uint32_t, std::uint64_t, const char*> wrong[] = {
      {0, 1, "x"}, {1, 0, "x"}, {0, 0, "xxxxx"}, {0, std::uint64_t(-1), "x"}, {9, 0, "x"}};
  for (const auto& [buffer, offset, bytes] : wrong) {
    announce(kAlice, {4, 1});
    EXPECT_FALSE(chunk(kAlice, buffer, offset, bytes).has_value());
    EXPECT_EQ(chunk(kAlice, 0, 0, "abcd"), Receipt::kMore)
        << "the receipt is over, and its sender has not heard that yet";
  }
  announce(kAlice, {4, 1});
  chunk(kAlice, 0, 0, "abcd");
  EXPECT_EQ(chunk(kAlice, 1, 0, "e"), Receipt::kWhole);
}

TEST_F(ObjectStoreTest, OneThatIsAnnouncedAnewAndRefusedLeavesNothingHalf) {
  for (const std::uint64_t refused : {kMoreThanThereIs, std::uint64_t{1} << 62}) {
    announce(kAlice, {4 * ObjectStore::kPlainBytes});
    chunk(kAlice, 0, 0, "abcd");

    EXPECT_FALSE(announce(kAlice, {refused}).has_value());

    EXPECT_TRUE(store.progress(kAlice).empty());
    EXPECT_GT(store.kept_bytes(), 0u) << "its memory is nobody's again";
    EXPECT_EQ(chunk(kAlice, 0, 4, "efgh"), Receipt::kMore) << "its sender has not heard of it yet";
    EXPECT_TRUE(store.progress(kAlice).empty());
  }
}

// ---- fetched over the bulk lane -----------------------------------------------------------------------------------

struct FetchedTest : ObjectStoreTest {
  Result<Receipt> announce_fetched(const SessionId& session, std::vector<std::uint64_t> sizes) {
    return store.announce(session, {kObject, "pickle", std::move(sizes), false, {}, {}, true});
  }
  static void write(const bulk::Target& target, std::uint64_t offset, std::string_view text) {
    ASSERT_TRUE(target.write(offset, std::as_bytes(std::span(text))).has_value());
  }
};

TEST_F(FetchedTest, IsWrittenInAnyOrderAndIsThereWhenItIsWhole) {
  EXPECT_EQ(announce_fetched(kAlice, {4, 0, 2}), Receipt::kMore);
  const auto rest = store.rest(kAlice, kObject);
  ASSERT_TRUE(rest);
  ASSERT_EQ(rest->targets.size(), 3u);
  write(rest->targets[2], 0, "ef");
  write(rest->targets[0], 2, "cd");
  write(rest->targets[0], 0, "ab");
  EXPECT_FALSE(store.has(kObject));

  EXPECT_EQ(store.came_whole(kAlice, kObject), Receipt::kWhole);

  const auto use = store.use(kObject);
  ASSERT_TRUE(use.has_value());
  EXPECT_EQ(text(use->buffers[0]) + text(use->buffers[2]), "abcdef");
}

TEST_F(FetchedTest, GoesOnWhereItWasWhenItIsAnnouncedAgain) {
  announce_fetched(kAlice, {4, 2});
  write(store.rest(kAlice, kObject)->targets[0], 0, "abcd");
  store.came_to(kAlice, kObject, {0, 4});

  EXPECT_EQ(announce_fetched(kAlice, {4, 2}), Receipt::kMore);

  const auto rest = store.rest(kAlice, kObject);
  EXPECT_EQ(rest->from, (Position{1, 0}));
  write(rest->targets[1], 0, "ef");
  EXPECT_EQ(store.came_whole(kAlice, kObject), Receipt::kWhole);
  EXPECT_EQ(text(store.use(kObject)->buffers[0]), "abcd");
}

TEST_F(FetchedTest, OneThatIsAnnouncedAnewAndRefusedIsNotFetched) {
  announce_fetched(kAlice, {4, 2});

  EXPECT_EQ(announce_fetched(kAlice, {kMoreThanThereIs}).error().code, ErrorCode::kOutOfMemory);

  EXPECT_FALSE(store.rest(kAlice, kObject));
}

TEST_F(FetchedTest, WhatAnotherSessionSentIsThereAtOnce) {
  announce(kOther, {4});
  chunk(kOther, 0, 0, "abcd");

  EXPECT_EQ(announce_fetched(kAlice, {4}), Receipt::kWhole);

  EXPECT_FALSE(store.rest(kAlice, kObject));
  EXPECT_TRUE(store.holds(kAlice, kObject));
}

TEST_F(FetchedTest, WhoeverFillsItMayBeLateWhenItWasDropped) {
  announce_fetched(kAlice, {4});
  const auto rest = store.rest(kAlice, kObject);
  store.drop(kAlice, kObject);

  write(rest->targets[0], 0, "abcd");

  EXPECT_EQ(store.came_whole(kAlice, kObject), Receipt::kMore);
  EXPECT_FALSE(store.has(kObject));
}

TEST_F(FetchedTest, OneThatCannotBeKeptIsGivenUp) {
  announce_fetched(kAlice, {4});

  store.give_up(kAlice, kObject);

  EXPECT_FALSE(store.rest(kAlice, kObject));
  EXPECT_TRUE(store.progress(kAlice).empty());
}

TEST_F(ObjectStoreTest, RefusesSizesThatNoMachineHas) {
  const auto huge = std::uint64_t{1} << 62;
  EXPECT_EQ(announce(kAlice, {huge, huge, huge, huge}).error().code, ErrorCode::kTooLarge);
}

TEST_F(ObjectStoreTest, RefusesAChunkOfAnotherSessionsAnnouncement) {
  announce(kAlice, {3});
  EXPECT_FALSE(chunk(kOther, 0, 0, "abc").has_value());
  EXPECT_EQ(chunk(kAlice, 0, 0, "abc"), Receipt::kWhole);
}

TEST_F(ObjectStoreTest, LetsASecondSenderOfAKnownObjectFinishWithoutChangingIt) {
  hold(kAlice);
  EXPECT_EQ(announce(kOther, {3}), Receipt::kMore);
  EXPECT_EQ(chunk(kOther, 0, 0, "zzz"), Receipt::kWhole);
  EXPECT_EQ(text(store.use(kObject)->buffers[0]), "abc");
}

TEST_F(ObjectStoreTest, KeepsAnObjectUntilItsLastHolderDropsIt) {
  hold(kAlice);
  hold(kOther);
  store.drop(kAlice, kObject);
  EXPECT_TRUE(store.has(kObject));
  store.drop(kAlice, kObject);
  EXPECT_TRUE(store.has(kObject));
  store.drop(kOther, kObject);
  EXPECT_FALSE(store.has(kObject));
}

TEST_F(ObjectStoreTest, ForgetsWhatADismissedSessionHeldOrWasSending) {
  hold(kAlice);
  store.announce(kAlice, {id_of<ObjectId>(8), "p", {3}, false});
  store.drop_all(kAlice);
  EXPECT_FALSE(store.has(kObject));
  EXPECT_FALSE(store.chunk(kAlice, id_of<ObjectId>(8), {}, std::as_bytes(std::span("abc", 3))).has_value());
}

TEST_F(ObjectStoreTest, IsolatesUsesWhateverTheSize) {
  for (const std::uint64_t size : {std::uint64_t{10}, std::uint64_t{ObjectStore::kPlainBytes} * 4}) {
    announce(kAlice, {size});
    chunk(kAlice, 0, 0, std::string(size, 'a'));
    const auto spoiled = store.use(kObject);
    spoiled->buffers[0].bytes.back() = std::byte{'z'};
    EXPECT_EQ(text(store.use(kObject)->buffers[0]).back(), 'a');
    store.drop(kAlice, kObject);
  }
}

TEST_F(ObjectStoreTest, LetsAUseOutliveTheObject) {
  const std::uint64_t size = ObjectStore::kPlainBytes * 4;
  announce(kAlice, {size});
  chunk(kAlice, 0, 0, std::string(size, 'a'));
  const auto use = store.use(kObject);
  store.drop(kAlice, kObject);
  EXPECT_EQ(store.kept_bytes(), 0u);
  EXPECT_EQ(text(use->buffers[0]).back(), 'a');
}

// ---- a job that may use less than what is announced ---------------------------------------------------------------

struct BoundedTest : testing::Test {
  Result<Receipt> announce(const ObjectId& object, std::uint64_t size) {
    return store.announce(kAlice, {object, "pickle", {size}, false});
  }
  std::uint64_t left = std::uint64_t{100} << 20;
  ObjectStore store{0, [this](std::uint64_t) { return memory::Room{std::uint64_t{1} << 30, left}; }};
};

TEST_F(BoundedTest, WhatDoesNotFitIsRefusedBySizeAndLimitBeforeItComes) {
  const auto refused = announce(kObject, std::uint64_t{80} << 20);

  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(refused.error().text,
            "an object of 80 MiB does not fit into this job's memory: of 1024 MiB there are 68 MiB left for it");
  EXPECT_TRUE(store.progress(kAlice).empty());
}

TEST_F(BoundedTest, WhatIsUnderWayHasItsMemoryAlready) {
  const ObjectId other = id_of<ObjectId>(8);
  EXPECT_EQ(announce(kObject, std::uint64_t{40} << 20), Receipt::kMore);
  EXPECT_FALSE(announce(other, std::uint64_t{40} << 20).has_value());

  store.drop(kAlice, kObject);

  EXPECT_EQ(announce(other, std::uint64_t{40} << 20), Receipt::kMore);
}

TEST_F(BoundedTest, WhatHasComeIsNotCountedTwice) {
  const std::string half(std::size_t{20} << 20, 'a');
  EXPECT_EQ(announce(kObject, std::uint64_t{40} << 20), Receipt::kMore);
  store.chunk(kAlice, kObject, {}, std::as_bytes(std::span(half)));
  left -= half.size();  // as the kernel counts it

  EXPECT_EQ(announce(id_of<ObjectId>(8), std::uint64_t{28} << 20), Receipt::kMore);
}

// ---- to a device --------------------------------------------------------------------------------------------------

struct OnDeviceTest : ObjectStoreTest {
  std::shared_ptr<device::Placement> placement(std::vector<std::uint64_t> sizes) {
    return std::make_shared<device::Placement>(
        device::DeviceName{}, [this] { return devices.open(device::DeviceName{}); }, std::move(sizes), "test");
  }
  Result<Receipt> announce(const std::shared_ptr<device::Placement>& to, std::vector<std::uint64_t> sizes,
                           bool fetched = false, bool pickle_follows = false) {
    return store.announce(
        kAlice, {kObject, pickle_follows ? "" : "pickle", std::move(sizes), pickle_follows, {}, {}, fetched, to});
  }
  // As the thread does that copies them.
  Result<Receipt> place(const std::shared_ptr<device::Placement>& to) {
    const auto landed = *store.landed(kAlice, kObject);
    for (std::size_t i = 0; i < landed.buffers.size(); ++i) EXPECT_TRUE(to->write(i, 0, landed.buffers[i].bytes));
    return store.placed(kAlice, kObject, to.get(), to->finish());
  }
  std::string on_device(std::size_t buffer) {
    const device::Buffer& at = store.use(kObject)->on_device->buffers.at(buffer);
    return {reinterpret_cast<const char*>(at.data()), at.size()};
  }

  device::Devices devices;
};

TEST_F(OnDeviceTest, IsThereWhenItsBuffersAreOnTheDevice) {
  const auto to = placement({3, 2});
  announce(to, {3, 2});
  chunk(kAlice, 0, 0, "abc");
  EXPECT_EQ(chunk(kAlice, 1, 0, "de"), Receipt::kToPlace);
  EXPECT_FALSE(store.has(kObject));

  EXPECT_EQ(place(to), Receipt::kWhole);

  EXPECT_TRUE(store.holds(kAlice, kObject));
  EXPECT_EQ(text(store.use(kObject)->pickle), "pickle");
  EXPECT_TRUE(store.use(kObject)->buffers.empty());
  EXPECT_EQ(on_device(0) + "|" + on_device(1), "abc|de");
}

TEST_F(OnDeviceTest, KeepsItsPickleHereWhenThatFollows) {
  const auto to = placement({3});
  announce(to, {2, 3}, false, true);
  chunk(kAlice, 0, 0, "pi");
  chunk(kAlice, 1, 0, "abc");

  EXPECT_EQ(place(to), Receipt::kWhole);

  EXPECT_EQ(text(store.use(kObject)->pickle), "pi");
  EXPECT_EQ(on_device(0), "abc");
}

TEST_F(OnDeviceTest, WhatIsFetchedGoesThereAsItComesAndTakesNoMemoryHere) {
  const std::string large(ObjectStore::kPlainBytes * 2, 'x');
  const auto to = placement({large.size()});
  EXPECT_EQ(announce(to, {large.size()}, true), Receipt::kMore);
  const auto rest = store.rest(kAlice, kObject);

  EXPECT_TRUE(rest->targets.at(0).write(0, std::as_bytes(std::span(large))));
  EXPECT_EQ(store.came_whole(kAlice, kObject), Receipt::kToPlace);

  EXPECT_TRUE(store.landed(kAlice, kObject)->buffers.empty());
  EXPECT_EQ(place(to), Receipt::kWhole);
  EXPECT_EQ(on_device(0), large);
  EXPECT_EQ(store.kept_bytes(), 0u);
}

TEST_F(OnDeviceTest, WhatHasNoBytesIsPlacedToo) {
  const auto to = placement({0});

  EXPECT_EQ(announce(to, {0}), Receipt::kToPlace);
  EXPECT_EQ(place(to), Receipt::kWhole);
}

TEST_F(OnDeviceTest, OneThatDoesNotFitThereIsNotKept) {
  const auto to = placement({3});
  announce(to, {3});
  chunk(kAlice, 0, 0, "abc");

  const auto placed = store.placed(kAlice, kObject, to.get(), failure(ErrorCode::kOutOfMemory, "full"));

  EXPECT_EQ(placed.error().text, "full");
  EXPECT_FALSE(store.has(kObject));
}

TEST_F(OnDeviceTest, OneThatNobodyWantsAnyMoreWhenItArrivesThereIsNotKept) {
  const auto to = placement({3});
  announce(to, {3});
  chunk(kAlice, 0, 0, "abc");

  store.drop(kAlice, kObject);

  EXPECT_EQ(store.placed(kAlice, kObject, to.get(), to->finish()), Receipt::kMore);
  EXPECT_FALSE(store.has(kObject));
}

TEST_F(OnDeviceTest, OneThatIsAnnouncedAnewWaitsForTheLaterCopy) {
  const auto before = placement({3}), now = placement({3});
  announce(before, {3});
  chunk(kAlice, 0, 0, "abc");
  announce(now, {3});

  EXPECT_EQ(store.placed(kAlice, kObject, before.get(), before->finish()), Receipt::kMore);

  chunk(kAlice, 0, 0, "abc");
  EXPECT_EQ(place(now), Receipt::kWhole);
}

TEST_F(OnDeviceTest, IsNoSourceForOthers) {
  const std::string large(ObjectStore::kPlainBytes * 2, 'x');
  const auto to = placement({large.size()});
  announce(to, {large.size()});
  chunk(kAlice, 0, 0, large);

  place(to);

  EXPECT_TRUE(store.parts(kAlice, kObject).empty());
  EXPECT_FALSE(store.lying(kAlice, kObject));
}

}  // namespace
}  // namespace pounce::worker
