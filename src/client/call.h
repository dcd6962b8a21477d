// One submitted call as the client keeps it until it ends, and its end. Values. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "client/memory.h"
#include "model/run_figures.h"
#include "pounce/error.h"
#include "pounce/fields.h"
#include "pounce/ids.h"
#include "pounce/resources.h"

namespace pounce::client {

struct Call {
  TaskId task;
  Resources resources;
  std::uint32_t retries = 0;
  std::optional<WorkerIndex> worker{};  // the worker of its lease that must run it; nullopt: any
  FunctionId function;
  Buffer function_pickle;
  bool command = false;            // a command line instead of a pickle
  std::vector<Buffer> payload;     // the pickled arguments, then their small buffers
  std::vector<ObjectId> objects;   // what the Refs inside the pickle stand for
  std::int64_t submitted_ns = 0;   // steady clock, when submit() was entered
};

// Nanoseconds of the parts of one call, each the difference of two stamps (docs/architecture.md, "Life of one
// submit"). The worker's stamps are mapped to our clock by the measured offset; run_ns is on the worker's own clock.
struct Timings {
  std::int64_t queue_ns = 0;    // until the job ran, and until its worker had room
  std::int64_t boot_ns = 0;     // from the job's start until its Python could be talked to
  std::int64_t send_ns = 0;     // from there until the function's first line
  std::int64_t run_ns = 0;
  std::int64_t receive_ns = 0;  // from its last line until the outcome was here
  std::int64_t arrived_ns = 0;  // our steady clock at that moment; the caller adds unpickling
  model::RunFigures figures;    // as the worker measured them

  static constexpr auto fields() {
    return table(field("queue_ns", &Timings::queue_ns, "until the job ran, and until its worker had room"),
                 field("boot_ns", &Timings::boot_ns, "from the job's start until its Python could be talked to"),
                 field("send_ns", &Timings::send_ns, "from there until the function's first line"),
                 field("run_ns", &Timings::run_ns), field("receive_ns", &Timings::receive_ns, "from its last line until the outcome was here"),
                 field("arrived_ns", &Timings::arrived_ns, "our steady clock at that moment"),
                 field("figures", &Timings::figures));
  }
};

struct Ended {
  TaskId task;
  bool ok = false;
  Error error;                  // of ok = false
  bool raised = false;          // ok = false with a pickled exception of the function's own
  Memory pickle;
  std::vector<Memory> buffers;
  Timings timings;
};

}  // namespace pounce::client
