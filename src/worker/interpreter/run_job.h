// A task on its way to the main thread, and what comes back from it: values that the binding turns into Python.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "model/ids.h"
#include "model/task.h"
#include "pounce/error.h"
#include "transport/frame.h"
#include "worker/interpreter/object_store.h"

namespace pounce::worker {

// As messages and jobs name a time. The client corrects it by the offset of the clocks.
inline std::int64_t to_ns(TimePoint time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

// Thread: moved from the leader token's holder to the main thread and back.
struct Job {
  TaskId task;
  SessionId session;  // its owner
  FunctionId function;
  KeptFunction function_body;
  std::shared_ptr<transport::Message> frames;  // header, pickle, inline buffers; shared with Python's buffers
  std::vector<ObjectUse> objects;              // persistent ids 0.. of the pickle
  ObjectId settings;                           // the last object's, if that is its kernel's settings; else empty
  std::string kept_in;                         // folder of a detached task's call and outcome
  std::optional<Error> failure;                // set when it cannot run because there was no memory for its inputs
  std::int64_t received_ns = 0;                // when it arrived
};

struct JobResult {
  bool ok = false;
  Error error;   // when not ok
  Bytes pickle;  // the value, or the exception; may be empty when not ok
  std::vector<Bytes> buffers;
  model::RunFigures run;
};

// A result that was sent and may have to be sent again, until the client acknowledges it.
struct KeptOutcome {
  std::int64_t received_ns = 0;
  JobResult result;
};

}  // namespace pounce::worker
