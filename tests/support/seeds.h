// Which seeds a run of a fuzzer draws: POUNCE_FUZZ_SEEDS of them, from POUNCE_FUZZ_FIRST (1) on; with POUNCE_FUZZ_SEED
// only that one. Thread: any.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace pounce {

inline std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct Seeds {
  std::uint64_t first = 0, last = 0;
  bool only_one = false;
  std::uint64_t count() const { return last - first + 1; }
};

// many: where the environment does not say.
inline Seeds seeds_of_this_run(std::uint64_t many) {
  if (const std::uint64_t only = number_from_environment("POUNCE_FUZZ_SEED", 0); only != 0) return {only, only, true};
  const std::uint64_t first = number_from_environment("POUNCE_FUZZ_FIRST", 1);
  return {first, first + number_from_environment("POUNCE_FUZZ_SEEDS", many) - 1};
}

}  // namespace pounce
