// A worker's measurements of one run of a task, on their way from the interpreter to timings(). A new figure is a
// member and a line of the table; the worker fills it in, the client shows it. Values. Thread: any.
#pragma once

#include <cstdint>

#include "pounce/fields.h"

namespace pounce::model {

struct RunFigures {
  std::int64_t run_start_ns = 0, run_end_ns = 0;
  std::uint64_t peak_memory = 0;
  std::int64_t imports_ns = 0;
  bool operator==(const RunFigures&) const = default;

  static constexpr auto fields() {
    return table(field("run_start_ns", &RunFigures::run_start_ns, "before the function's first line; 0: it did not come to that"),
                 field("run_end_ns", &RunFigures::run_end_ns, "after its last"),
                 field("peak_memory", &RunFigures::peak_memory, "the most bytes of memory that its Python had meanwhile; 0: not known"),
                 field("imports_ns", &RunFigures::imports_ns, "so long it waited for modules to be loaded: before its run and in it"));
  }
};

}  // namespace pounce::model
