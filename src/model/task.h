// A client's tasks: how many of one kind it wants run, what a worker says of one of them, and what it measured of its
// run. Values only. Thread: any.
#pragma once

#include <cstdint>
#include <vector>

#include "model/ids.h"
#include "pounce/fields.h"
#include "pounce/resources.h"

namespace pounce {

// What a client wants of one kind: so many tasks with equal resources.
struct Request {
  RequestId id;
  Resources resources;
  std::uint32_t waiting = 0, running = 0;
  std::vector<LeaseId> holds;
  std::uint32_t generation = 0;
  bool operator==(const Request&) const = default;

  static constexpr auto fields() {
    return table(field("id", &Request::id), field("resources", &Request::resources),
                 field("waiting", &Request::waiting, "tasks not yet sent"),
                 field("running", &Request::running, "tasks sent and not ended"),
                 field("holds", &Request::holds, "leases that this client talks to: it claims them after a restart"),
                 field("generation", &Request::generation,
                       "grows with the first call after the client was told that a lease of this request, or the "
                       "request, has ended")
                     .only_if_set());
  }
};

// What a worker says of a task that its client asks after.

// kForgotten: it ran there, and its result is gone. kEnding: it came while the worker ends, which accepts no more.
enum class RemoteTaskState : std::uint8_t { kUnknown, kQueued, kRunning, kDone, kForgotten, kEnding };
// An unknown state of a later version reads as kUnknown.
constexpr auto words(RemoteTaskState) {
  return words_of<RemoteTaskState>({"unknown", "queued", "running", "done", "forgotten", "ending"},
                                   RemoteTaskState::kUnknown);
}

}  // namespace pounce

namespace pounce::model {

// What a worker measures of one run of a task, on its way from the interpreter to timings(). A new figure is a member
// and a line of the table; the worker fills it in, the client shows it.
struct RunFigures {
  std::int64_t run_start_ns = 0, run_end_ns = 0;
  std::uint64_t peak_memory = 0;
  std::int64_t imports_ns = 0;
  bool operator==(const RunFigures&) const = default;

  static constexpr auto fields() {
    return table(field("run_start_ns", &RunFigures::run_start_ns,
                       "before the function's first line; 0: it did not come to that"),
                 field("run_end_ns", &RunFigures::run_end_ns, "after its last"),
                 field("peak_memory", &RunFigures::peak_memory,
                       "the most bytes of memory that its Python had meanwhile; 0: not known"),
                 field("imports_ns", &RunFigures::imports_ns,
                       "so long it waited for modules to be loaded: before its run and in it"));
  }
};

}  // namespace pounce::model
