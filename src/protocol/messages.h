// Every message of protocol version 1 as a struct (docs/protocol.md is the specification). A message is one
// JSON header frame, made from one of these, and binary payload frames counted here in comments. Wire structs are
// separate from the core's events: the shells translate. Thread: any (values).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "pounce/error.h"
#include "pounce/ids.h"
#include "pounce/job.h"
#include "pounce/resources.h"
#include "protocol/door_messages.h"
#include "protocol/named_messages.h"
#include "protocol/queue_messages.h"
#include "protocol/release_messages.h"

namespace pounce::protocol {

// ---- hall: client <-> daemon -------------------------------------------------------------------------------------

struct OpenSession {  // client -> daemon, first; again after a daemon restart (same session id)
  static constexpr char kType[] = "open_session";
  SessionId session;
  std::uint32_t pid = 0;
  std::string host, directory;             // where the notebook is; workers start in `directory`
  std::vector<std::string> interpreter;    // argv prefix, normally {sys.executable}
  std::map<std::string, std::string> environment;  // allow-listed names only, never secrets
  bool interpreter_named = false;  // by the person: not to be replaced by the site's own
  bool carries = false;  // the session is a named task's, which pounced keeps: to take its call and outcome across
};
struct Want {
  WantId id;
  Resources resources;
  std::uint32_t waiting = 0, running = 0;  // tasks not yet sent, tasks sent and not ended
  std::vector<LeaseId> holds;              // leases this client already talks to (claims them after a restart)
};
struct Demand {  // client -> daemon: the whole truth each time, so a lost or repeated one does no harm
  static constexpr char kType[] = "demand";
  SessionId session;
  std::vector<Want> wants;
};
struct CloseSession {  // client -> daemon: orderly end; leases nobody else needs are given back at once
  static constexpr char kType[] = "close_session";
  SessionId session;
};
struct Beat {  // either way on hall and data sockets; the receiver of answer=false replies with answer=true
  static constexpr char kType[] = "beat";
  bool answer = false;
  std::int64_t sent_ns = 0;   // sender's steady clock; an answer echoes the asker's
  std::int64_t clock_ns = 0;  // answerer's steady clock when answering: gives the clock offset
};
struct Granted {  // daemon -> client: connect to this worker. Repeated after either side restarts.
  static constexpr char kType[] = "granted";
  WantId want;
  LeaseId lease;
  WorkerIndex worker;
  Epoch epoch;
  std::string endpoint;  // tcp://host:port of the interpreter's data socket
  std::string key;       // its public CURVE key, Z85
};
// What the person reads while waiting. `state` is a word of docs/states.md's lease table.
struct LeaseStatus {  // daemon -> client, on each change
  static constexpr char kType[] = "lease_status";
  WantId want;
  LeaseId lease;
  std::string state, reason;             // reason: plain words; Slurm's own below
  std::uint32_t job = 0;
  std::string node, devices;             // "g1", "gpu:a100:1(IDX:0)", or "CPU standing in"
  std::int64_t start_estimate_s = 0;     // unix time, 0 = none known
  std::int64_t end_time_s = 0;           // unix time of the walltime's end, 0 = not known
  std::string class_name, slurm_reason;  // as Slurm has them: "lion", "QOSMaxJobsPerUserLimit"
  std::int32_t ahead = -1;               // of a queued job: jobs that go first, -1 = not known
  LimitUse limit;                        // that it waits for; without `what`: none, or its numbers are not known
  Eta eta{};                             // of a queued job
};
struct WorkerDown {  // daemon -> client: this interpreter died; a Granted with epoch+1 follows unless the lease ends
  static constexpr char kType[] = "worker_down";
  LeaseId lease;
  WorkerIndex worker;
  Epoch epoch;
  Error error;  // kWorkerCrashed or kOutOfMemory; context: signal, exit_code, last_lines
};
struct LeaseEnded {  // daemon -> client: terminal, with the typed reason
  static constexpr char kType[] = "lease_ended";
  WantId want;
  LeaseId lease;
  Error error;
};
struct WantFailed {  // daemon -> client: this want can never be served (unknown class ...); its tasks fail with it
  static constexpr char kType[] = "want_failed";
  WantId want;
  Error error;
};
struct StatusAsk {  // pouncectl -> daemon
  static constexpr char kType[] = "status_ask";
  std::uint32_t request = 0;
};
struct StatusIs {  // daemon -> pouncectl: a JSON document of docs/protocol.md §6
  static constexpr char kType[] = "status_is";
  std::uint32_t request = 0;
  std::string document;
};
struct Notice {  // daemon -> client: one line for the person ("no Slurm here: using this machine's CPU")
  static constexpr char kType[] = "notice";
  std::string text;
};

// ---- hall: supervisor <-> daemon --------------------------------------------------------------------------------

struct WorkerUp {  // supervisor -> daemon, first; again after a daemon restart
  static constexpr char kType[] = "worker_up";
  LeaseId lease;
  WorkerIndex worker;
  std::uint32_t job = 0, restart = 0;  // SLURM_JOB_ID, SLURM_RESTART_COUNT; 0 under the local launcher
  std::string node, devices;
  std::uint32_t pid = 0;
  bool interpreter_ready = false;  // then epoch, endpoint, key are set (re-announcement)
  Epoch epoch;
  std::string endpoint, key;
};
struct InterpreterUp {  // supervisor -> daemon
  static constexpr char kType[] = "interpreter_up";
  LeaseId lease;
  WorkerIndex worker;
  Epoch epoch;
  std::string endpoint, key;
};
struct InterpreterDown {  // supervisor -> daemon
  static constexpr char kType[] = "interpreter_down";
  LeaseId lease;
  WorkerIndex worker;
  Epoch epoch;
  // kWorkerCrashed | kOutOfMemory. context: node, signal or exit_code (numbers), signal_name, last_lines, and what the
  // supervisor read in the page it shares with the interpreter, which outlives any crash: `running`, the id of the task
  // that ran then (or empty), and `started`, the ids (comma-separated) of all that were started and not acknowledged.
  // A task sent to this epoch and not named in `started` never started. No `started` key: not known, be careful.
  Error error;
  bool restarting = true;
};
struct WorkerBeat {  // supervisor -> daemon every heartbeat_ms
  static constexpr char kType[] = "worker_beat";
  LeaseId lease;
  WorkerIndex worker;
  std::uint32_t running = 0;  // tasks queued or running in the interpreter
  bool leaving = false;       // the last one: it ends, and the batch system knows why
  // Of the job since it began: milliseconds with a task and without, CPU time of all its processes, and their memory.
  std::int64_t busy_ms = 0, idle_ms = 0, cpu_ms = 0;
  std::uint64_t memory_mib = 0;  // most of it so far
  // Of its GPUs, by their driver: how much of the time with a task they computed (-1: not known), and the most memory of one
  // (of how much; 0: not known).
  std::int32_t gpu_percent = -1;
  std::uint64_t gpu_memory_mib = 0, gpu_memory_total_mib = 0;
  std::uint32_t warnings = 0;  // so often the batch system has warned the job that it will end: it can say when and why
};
struct Admit {  // daemon -> supervisor -> interpreter: this client key may use your data socket
  static constexpr char kType[] = "admit";
  LeaseId lease;
  SessionId session;
  std::string key;
};
struct Dismiss {  // daemon -> supervisor -> interpreter: cancel this session's tasks, forget its key
  static constexpr char kType[] = "dismiss";
  LeaseId lease;
  SessionId session;
  std::string reason;
};
struct EndWorker {  // daemon -> supervisor: end the process tree, then the job ends by itself
  static constexpr char kType[] = "end_worker";
  LeaseId lease;
  std::string reason;
  bool only_if_idle = false;  // true: refuse new tasks and end, but with a task at hand stay and say so in worker_beat
};

// ---- supervisor <-> interpreter (inherited socketpair, length-prefixed headers) -------------------------------

struct Ready {  // interpreter -> supervisor
  static constexpr char kType[] = "ready";
  std::string endpoint, key;
};
struct Activity {  // interpreter -> supervisor: on change and at least every 2 s while a client is connected
  static constexpr char kType[] = "activity";
  std::uint32_t running = 0;
  std::int64_t client_heard_ms_ago = -1;  // -1: never
};
// supervisor -> interpreter: Admit, Dismiss, EndWorker (above), and
struct Walltime {
  static constexpr char kType[] = "walltime";
  std::int64_t end_time_s = 0;
};

// ---- data: client <-> interpreter ------------------------------------------------------------------------------

struct Attach {  // client -> worker, first on each connection
  static constexpr char kType[] = "attach";
  SessionId session;
  std::string pounce, python, cloudpickle;  // versions; python as "3.11"
};
struct Attached {  // worker -> client
  static constexpr char kType[] = "attached";
  std::string pounce, python, cloudpickle;
  std::string host, node, devices, directory;
  std::uint32_t pid = 0;
};
struct Function {  // client -> worker, before the first task that needs it; payload: [pickle or command]
  static constexpr char kType[] = "function";
  FunctionId function;
  bool command = false;  // the payload is a command line (protocol/command.h), not a pickle
};
struct Object {  // client -> worker: announce; payload: [pickle] with its out-of-band buffers following as Chunks
  static constexpr char kType[] = "object";
  ObjectId object;
  std::vector<std::uint64_t> buffers;  // sizes in bytes
  bool pickle_follows = false;         // the pickle is over kInlineBytes: its frame is empty, buffers[0] is the pickle
};
struct Chunk {  // either way; payload: [bytes, at most limits.h kChunkBytes]
  static constexpr char kType[] = "chunk";
  std::string of;              // ObjectId hex (to a worker) or TaskId hex (a result, to the client)
  std::uint32_t buffer = 0;
  std::uint64_t offset = 0;
};
struct Have {  // worker -> client: the object is whole here
  static constexpr char kType[] = "have";
  ObjectId object;
};
struct Drop {  // client -> worker: nobody needs these any more
  static constexpr char kType[] = "drop";
  std::vector<ObjectId> objects;
};
struct Task {  // client -> worker; payload: [pickled (args, kwargs), then its small out-of-band buffers]
  static constexpr char kType[] = "task";
  TaskId task;
  FunctionId function;
  std::vector<ObjectId> objects;  // persistent ids 0.. inside the pickle refer to these
  std::uint32_t attempt = 0;
};
struct Started {  // worker -> client
  static constexpr char kType[] = "started";
  TaskId task;
};
struct Output {  // worker -> client, live; payload: [bytes as written]
  static constexpr char kType[] = "output";
  TaskId task;
  std::string stream;  // "stdout" | "stderr"
};
// Inline go the leading buffers under kInlineBytes; from the first larger one on, all follow as Chunks, so that the
// inline ones and then `buffers` are the pickle's order.
struct Outcome {  // worker -> client; payload: [pickle, then inline buffers]; the others follow as Chunks
  static constexpr char kType[] = "outcome";
  TaskId task;
  bool ok = false;             // false: the pickle is an exception (tblib) and error says it in words
  Error error;
  std::vector<std::uint64_t> buffers;  // sizes of those that follow as Chunks, in pickle order after the inline ones
  bool pickle_follows = false;         // as in Object: no inline buffers then, and buffers[0] is the pickle
  std::int64_t received_ns = 0, run_start_ns = 0, run_end_ns = 0, sent_ns = 0;  // worker's steady clock
};
struct Ack {  // client -> worker: outcomes arrived whole; forget them
  static constexpr char kType[] = "ack";
  std::vector<TaskId> tasks;
};
struct Query {  // client -> worker, on reconnect
  static constexpr char kType[] = "query";
  std::vector<TaskId> tasks;
};
enum class TaskState : std::uint8_t { kUnknown, kQueued, kRunning, kDone };
struct QueryIs {  // worker -> client, one state per asked id; outcomes of done ones are sent again
  static constexpr char kType[] = "query_is";
  std::vector<TaskId> tasks;
  std::vector<TaskState> states;
};
struct CancelTask {  // client -> worker: drop it if queued, interrupt it (KeyboardInterrupt) if running
  static constexpr char kType[] = "cancel_task";
  TaskId task;
  std::uint32_t grace_ms = 5000;  // still running then: the interpreter is killed
};

struct Input {  // client -> worker: an answer for the code of a task that runs; payload as of Output's "message"
  static constexpr char kType[] = "input";
  TaskId task;
};

using Header = std::variant<
    Hello, Welcome, Refused, OpenSession, Demand, CloseSession, Beat, Granted, LeaseStatus, WorkerDown, LeaseEnded,
    WantFailed, QueueAsk, QueueIs, ClassesAsk, ClassesIs, StatusAsk, StatusIs, ReleaseAsk, ReleaseIs, NameTask, NameAsk, NameEnd, NameCarry, NamesAre, Notice,
    WorkerUp, InterpreterUp, InterpreterDown, WorkerBeat, Admit, Dismiss, EndWorker, RunNamed, NamedEnded, Ready, Activity,
    Walltime, Attach, Attached, Function, Object, Chunk, Have, Drop, Task, Started, Output, Outcome, Ack, Query, QueryIs,
    CancelTask, Input>;

}  // namespace pounce::protocol
