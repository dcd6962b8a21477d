// The same with libFuzzer: `fuzz_daemon CORPUS -max_total_time=60`. Writes ordinary lives into the folder that
// POUNCE_SEEDS_TO names, where it is set.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>

#include "daemon_fuzzer/life.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* folder = std::getenv("POUNCE_SEEDS_TO");
  if (folder == nullptr) return 0;
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    std::mt19937 random(seed);
    std::string script(50 + random() % 700, '\0');
    for (char& byte : script) byte = static_cast<char>(random());
    std::ofstream(std::string(folder) + "/seed" + std::to_string(seed)) << script;
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto outcome = pounce::daemon_fuzzer::Life({reinterpret_cast<const char*>(data), size}).live();
  if (outcome.trouble.empty()) return 0;
  std::fprintf(stderr, "%s\n", outcome.trouble.c_str());
  std::abort();
}
