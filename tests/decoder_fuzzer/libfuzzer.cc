// The same with libFuzzer, one program for each decoder: `fuzz_header CORPUS -max_total_time=60`. Writes the seeds into the
// folder that POUNCE_SEEDS_TO names, where it is set.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "decoder_fuzzer/decoder.h"

namespace {

const pounce::decoder_fuzzer::Decoder& decoder() {
  for (const auto& one : pounce::decoder_fuzzer::decoders())
    if (one.name == POUNCE_DECODER) return one;
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* folder = std::getenv("POUNCE_SEEDS_TO");
  int number = 0;
  if (folder != nullptr)
    for (const std::string& seed : decoder().seeds()) std::ofstream(std::string(folder) + "/seed" + std::to_string(number++)) << seed;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string trouble = pounce::decoder_fuzzer::trouble_with(decoder(), {reinterpret_cast<const char*>(data), size});
  if (trouble.empty()) return 0;
  std::fprintf(stderr, "%s\n", trouble.c_str());
  std::abort();
}
