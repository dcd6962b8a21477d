// What a command line of pounce-report says, as lines of a report: docs/reports.md has their form, and
// python/pounce/_worker/reports/report_line.py reads them. Thread: main.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pounce/error.h"

namespace pounce::reporter {

inline constexpr std::size_t kLineBytes = 4096;  // with the line break: a pipe takes that whole, beside other writers
inline constexpr std::size_t kNameBytes = 100;

struct Words {
  std::vector<std::string> numbers, files;  // "loss=0.3", paths
  std::string status;
  bool help = false, version = false;
};

// kBadRequest names the word that is wrong, and the nearest option.
Result<Words> read_words(const std::vector<std::string>& words);

// Each with its line break. kBadRequest: a file that is none, or a line that is too long.
Result<std::vector<std::string>> lines_of(const Words& words);

}  // namespace pounce::reporter
