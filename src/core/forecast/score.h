// How good the stated starts were, once the real ones are known. Pure. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pounce::forecast {

struct Statement {
  std::string lease;
  std::int64_t stated_s = 0;                        // when it was made
  std::int64_t start_s = 0, low_s = 0, high_s = 0;  // what was said
  std::int64_t started_s = 0;                       // what came
};

// Of each wait's first statement; the later ones are easier.
struct Score {
  std::size_t waits = 0, statements = 0;
  double median_error_s = 0, coverage = 0, median_width_s = 0, median_wait_s = 0;
  double best_constant_s = 0, constant_error_s = 0;  // one constant stated for all, the best in hindsight
  double coverage_of_all = 0;                        // the later statements too
};

Score score(const std::vector<Statement>& statements);

}  // namespace pounce::forecast
