// One submitted call as the client keeps it until it ends, and what the engine tells Python of it and of its leases.
// Thread: any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "client/objects.h"
#include "model/ids.h"
#include "model/task.h"
#include "pounce/error.h"
#include "pounce/fields.h"
#include "pounce/resources.h"
#include "protocol/messages.h"

namespace pounce::client {

struct Call {
  TaskId task;
  Resources resources;
  std::uint32_t retries = 0;
  std::optional<WorkerIndex> worker{};  // the worker of its lease that must run it; nullopt: any
  FunctionId function;
  Bytes function_pickle;
  bool command = false;           // a command line instead of a pickle
  std::vector<Bytes> payload;     // the pickled arguments, then their small buffers
  std::vector<ObjectId> objects;  // what the Refs inside the pickle stand for
  bool settings = false;          // behind them is one more: the settings of this process that the call runs under
  std::int64_t submitted_ns = 0;  // steady clock, when submit() was entered
};

// Nanoseconds of the parts of one call, each the difference of two stamps (docs/internals.md, "Life of one
// submit"). The worker's stamps are mapped to our clock by the measured offset; run_ns is on the worker's own clock.
struct Timings {
  std::int64_t queue_ns = 0;  // until the job ran, and until its worker had room
  std::int64_t boot_ns = 0;   // from the job's start until its Python could be talked to
  std::int64_t send_ns = 0;   // from there until the function's first line
  std::int64_t run_ns = 0;
  std::int64_t receive_ns = 0;  // from its last line until the outcome was here
  std::int64_t arrived_ns = 0;  // our steady clock at that moment; the caller adds unpickling
  model::RunFigures figures;    // as the worker measured them

  static constexpr auto fields() {
    return table(field("queue_ns", &Timings::queue_ns, "until the job ran, and until its worker had room"),
                 field("boot_ns", &Timings::boot_ns, "from the job's start until its Python could be talked to"),
                 field("send_ns", &Timings::send_ns, "from there until the function's first line"),
                 field("run_ns", &Timings::run_ns),
                 field("receive_ns", &Timings::receive_ns, "from its last line until the outcome was here"),
                 field("arrived_ns", &Timings::arrived_ns, "our steady clock at that moment"),
                 field("figures", &Timings::figures));
  }
};

struct Ended {
  TaskId task;
  bool ok = false;
  Error error;          // of ok = false
  bool raised = false;  // ok = false with a pickled exception of the function's own
  WritableBytes pickle;
  std::vector<WritableBytes> buffers;
  Timings timings;
};

// The queue of events: any thread may drain it. The thread that waits for a result drains it on its way; only when no
// thread waits is the notifier thread woken (through an eventfd), so that short calls never need it. Its mutex is held
// for moments; nothing is called under it.
struct Printed {
  TaskId task;
  bool to_stderr = false;
  std::string text;
  bool message = false;  // text is the JSON of a Jupyter message, with these
  std::vector<std::string> buffers{};
};
struct Told {  // one line for the user
  std::string text;

  static constexpr auto fields() { return table(field("text", &Told::text)); }
};
struct StatusChanged {
  RequestId request;

  static constexpr auto fields() { return table(field("request", &StatusChanged::request)); }
};
struct GivenBack {  // its lease was given back for a waiting user while nothing of ours ran there
  RequestId request;
  std::uint32_t gpus = 0;
  std::int64_t at_s = 0;  // unix

  static constexpr auto fields() {
    return table(field("request", &GivenBack::request), field("gpus", &GivenBack::gpus),
                 field("at_s", &GivenBack::at_s));
  }
};
struct DaemonNeeded {  // the connection to pounced is gone and needed: run `pounced ensure`, then set_daemon()
  static constexpr auto fields() { return table(); }
};
struct QueueShown {
  protocol::QueueIs answer;
};
struct ClassesShown {
  protocol::ClassesIs answer;
};
struct StatusShown {
  protocol::StatusIs answer;
};
struct NamesShown {
  protocol::DetachedList answer;
};
using Event = std::variant<Printed, Ended, Told, StatusChanged, GivenBack, DaemonNeeded, QueueShown, ClassesShown,
                           StatusShown, NamesShown>;

class EventQueue {
 public:
  EventQueue();

  void push(Event event);
  std::vector<Event> drain();
  bool empty() const;

  // Count the threads on their way to drain(). When the last leaves with something left, or something comes while
  // there is none, the eventfd becomes readable.
  void enter();
  void leave();
  // A thread makes calls: if it makes more of them soon, the notifier takes several ends at a time, since each change
  // between the two threads costs what a call does.
  void caller_goes_on() { called_at_.store(Clock::now(), std::memory_order_relaxed); }
  void close();  // wakes wait() for good

  // For the notifier thread: returns false when closed.
  bool wait();

 private:
  void signal() const;
  // Beyond this, output that is not drained is dropped, and the text says so (a kernel may compute for hours without
  // a wait).
  static constexpr std::size_t kMaxPrintedBytes = 64 * 1024 * 1024;

  void let_callers_go_on() const;

  UniqueFd wake_;
  std::atomic<TimePoint> called_at_{};
  mutable std::mutex mutex_;  // guards everything below
  std::vector<Event> queue_;
  std::size_t printed_bytes_ = 0;
  int waiters_ = 0;
  bool closed_ = false;
};

}  // namespace pounce::client
