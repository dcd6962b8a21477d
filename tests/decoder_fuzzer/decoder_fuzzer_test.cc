// Each decoder with its seeds and many texts near them: nothing ends the process, and what is accepted means one thing.
// The sanitizer build runs the same. Longer: POUNCE_FUZZ_SEEDS; with coverage: libfuzzer.cc.
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "decoder_fuzzer/decoder.h"
#include "decoder_fuzzer/mutation.h"
#include "support/seeds.h"

namespace pounce::decoder_fuzzer {

void PrintTo(const Decoder& decoder, std::ostream* out) { *out << decoder.name; }

namespace {

class DecoderTest : public testing::TestWithParam<Decoder> {};

TEST_P(DecoderTest, AcceptsItsSeeds) {
  for (const std::string& seed : GetParam().seeds()) {
    EXPECT_TRUE(GetParam().again(seed)) << seed;
    EXPECT_EQ(trouble_with(GetParam(), seed), "") << seed;
  }
}

TEST_P(DecoderTest, ReadsOrRefusesWhatIsNearThem) {
  const std::uint64_t most = number_from_environment("POUNCE_FUZZ_SEEDS", 100);
  std::vector<std::string> seeds = GetParam().seeds();
  seeds.emplace_back();
  for (std::uint64_t round = 0; round < most; ++round) {
    Mutation mutation(static_cast<std::uint32_t>(round));
    for (const std::string& seed : seeds) {
      const std::string text = mutation.of(seed, seeds);
      ASSERT_EQ(trouble_with(GetParam(), text), "") << "round " << round << " of\n" << seed << "\nis\n" << text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Each, DecoderTest, testing::ValuesIn(decoders()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace pounce::decoder_fuzzer
