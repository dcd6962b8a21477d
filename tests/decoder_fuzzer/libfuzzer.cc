// The same with libFuzzer, one program for each decoder: `fuzz_header CORPUS -max_total_time=60`. Writes the seeds into
// the folder that POUNCE_SEEDS_TO names, where it is set, and their words beside it, as `-dict=FOLDER.dict` takes them.
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#include "decoder_fuzzer/decoder.h"

namespace {

const pounce::decoder_fuzzer::Decoder& decoder() {
  for (const auto& one : pounce::decoder_fuzzer::decoders())
    if (one.name == POUNCE_DECODER) return one;
  std::abort();
}

// Names of fields and values: what chance would not find.
std::set<std::string> words_of_seeds() {
  std::set<std::string> words{"null", "true"};
  for (const std::string& seed : decoder().seeds())
    for (std::size_t at = 0; at < seed.size();) {
      std::size_t end = at;
      while (end < seed.size() && (std::isalnum(static_cast<unsigned char>(seed[end])) != 0 || seed[end] == '_')) ++end;
      if (end - at >= 3 && end - at <= 24) words.insert(seed.substr(at, end - at));
      at = end + 1;
    }
  return words;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* folder = std::getenv("POUNCE_SEEDS_TO");
  if (folder == nullptr) return 0;
  int number = 0;
  for (const std::string& seed : decoder().seeds())
    std::ofstream(std::string(folder) + "/seed" + std::to_string(number++)) << seed;
  std::ofstream dictionary(std::string(folder) + ".dict");
  for (const std::string& word : words_of_seeds()) dictionary << '"' << word << "\"\n";
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string trouble =
      pounce::decoder_fuzzer::trouble_with(decoder(), {reinterpret_cast<const char*>(data), size});
  if (trouble.empty()) return 0;
  std::fprintf(stderr, "%s\n", trouble.c_str());
  std::abort();
}
