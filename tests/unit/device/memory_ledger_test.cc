// Who has how much of a device, and what is said when it is full.
#include <gmock/gmock.h>

#include "device/device.h"

namespace pounce::device {
namespace {

constexpr std::uint64_t kMiB = 1 << 20, kGiB = 1 << 30;

TEST(MemoryLedgerTest, AddsUpByHolderAndKeepsTheMost) {
  MemoryLedger ledger;
  ledger.add("model", 5);
  ledger.add("batch", 2);
  ledger.add("batch", 1);
  ledger.remove("model", 5);
  ledger.remove("batch", 2);

  EXPECT_EQ(ledger.use().bytes, 1u);
  EXPECT_EQ(ledger.use().most_bytes, 8u);
  EXPECT_THAT(ledger.use().holders, testing::ElementsAre(testing::Pair("batch", 1u)));
}

TEST(MemoryLedgerDeathTest, NobodyGivesBackWhatHeDoesNotHave) {
  MemoryLedger ledger;
  ledger.add("model", 5);

  EXPECT_DEATH(ledger.remove("batch", 5), "");
  EXPECT_DEATH(ledger.remove("model", 6), "");
}

TEST(MemoryLedgerTest, AFullDeviceNamesItsLargestHoldersFirst) {
  MemoryLedger ledger;
  for (const auto& [holder, size] :
       {std::pair{"a", kMiB}, {"b", 3 * kGiB}, {"c", 2 * kMiB}, {"d", 4 * kMiB}, {"e", 3 * kMiB}})
    ledger.add(holder, size);

  const Error error = out_of_device_memory(2 * kGiB, ledger.use(), MemoryRoom{kGiB / 2, 4 * kGiB});

  EXPECT_EQ(error.code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(
      error.text,
      "the device has no room for 2.0 GiB: 512.0 MiB of 4.0 GiB are free; pounce holds 3.0 GiB (3.0 GiB at most): "
      "b 3.0 GiB, d 4.0 MiB, e 3.0 MiB, c 2.0 MiB and 1 more");
  EXPECT_EQ(error.context.at("holders"), "b 3.0 GiB, d 4.0 MiB, e 3.0 MiB, c 2.0 MiB, a 1.0 MiB");
}

TEST(MemoryLedgerTest, ADeviceThatTellsNothingIsLeftOut) {
  const Error error = out_of_device_memory(100, {}, std::nullopt);

  EXPECT_EQ(error.text, "the device has no room for 100 bytes; pounce holds 0 bytes (0 bytes at most)");
  EXPECT_FALSE(error.context.contains("free_bytes"));
}

}  // namespace
}  // namespace pounce::device
