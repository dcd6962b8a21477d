// A task on its way to the main thread, and what comes back from it. Values that the binding turns into Python.
// Thread: moved from the leader token's holder to the main thread and back.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/run_figures.h"
#include "pounce/error.h"
#include "pounce/ids.h"
#include "transport/frame.h"
#include "worker/interpreter/function_store.h"
#include "worker/interpreter/object_store.h"
#include "worker/interpreter/shared_bytes.h"

namespace pounce::worker {

struct Job {
  TaskId task;
  SessionId session;                           // its owner
  FunctionId function;
  KeptFunction function_body;
  std::shared_ptr<transport::Message> frames;  // header, pickle, inline buffers; shared with Python's buffers
  std::vector<ObjectUse> objects;              // persistent ids 0.. of the pickle
  std::string kept_in;                         // folder of a detached task's call and outcome
  std::optional<Error> failure;                // set when it cannot run because there was no memory for its inputs
  std::int64_t received_ns = 0;                // when it arrived
};

struct JobResult {
  bool ok = false;
  Error error;         // when not ok
  SharedBytes pickle;  // the value, or the exception; may be empty when not ok
  std::vector<SharedBytes> buffers;
  model::RunFigures run;
};

// A result that was sent and may have to be sent again, until the client acknowledges it.
struct KeptOutcome {
  std::int64_t received_ns = 0;
  JobResult result;
};

}  // namespace pounce::worker
