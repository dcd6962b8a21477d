// A task on its way to the main thread, and what comes back from it. Values that the binding turns into Python.
// Thread: moved from the baton's holder to the main thread and back.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pounce/error.h"
#include "pounce/ids.h"
#include "transport/frame.h"
#include "worker/object_store.h"
#include "worker/shared_bytes.h"

namespace pounce::worker {

// What a client's `function` message brought, kept for all tasks that name it.
struct KeptFunction {
  std::shared_ptr<const std::string> bytes;  // its pickle, or a command line
  bool command = false;
};

struct Job {
  TaskId task;
  FunctionId function;
  KeptFunction function_body;
  std::shared_ptr<transport::Message> frames;  // header, pickle, inline buffers: shared with the Python buffers over them
  std::vector<ObjectUse> objects;              // persistent ids 0.. of the pickle
  std::string kept_in;                         // of a named task: its call is there and its outcome goes there
  std::optional<Error> failure;                // it cannot run: its inputs found no memory
};

struct JobResult {
  bool ok = false;
  Error error;         // when not ok
  SharedBytes pickle;  // the value, or the exception; may be empty when not ok
  std::vector<SharedBytes> buffers;
  std::int64_t run_start_ns = 0, run_end_ns = 0;  // steady clock
};

// A result that was sent and may have to be sent again, until the client acknowledges it.
struct KeptOutcome {
  std::int64_t received_ns = 0;
  JobResult result;
};

}  // namespace pounce::worker
