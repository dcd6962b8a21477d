// Between a supervisor and the daemon, and between it and its interpreter. Part of messages.h. Thread: any (values).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/worker_report.h"
#include "pounce/error.h"
#include "pounce/fields.h"
#include "protocol/message_limits.h"

namespace pounce::protocol {

struct WorkerUp {
  static constexpr char kType[] = "worker_up";
  static constexpr About kAbout{
      "S → D", "",
      "`job` and `restart` as Slurm tells the job, 0 without Slurm; `epoch`, `endpoint` and `key` mean "
      "something with `interpreter_ready`"};
  LeaseId lease;
  WorkerIndex worker;
  std::uint32_t job = 0, restart = 0;  // SLURM_JOB_ID, SLURM_RESTART_COUNT; 0 under the local launcher
  std::string node, devices;
  std::uint32_t pid = 0;
  bool interpreter_ready = false;
  Epoch epoch;
  std::string endpoint, key;
  std::vector<SessionId> clients{};

  static constexpr auto fields() {
    return table(field("lease", &WorkerUp::lease), field("worker", &WorkerUp::worker), field("job", &WorkerUp::job),
                 field("restart", &WorkerUp::restart), field("node", &WorkerUp::node),
                 field("devices", &WorkerUp::devices), field("pid", &WorkerUp::pid),
                 field("interpreter_ready", &WorkerUp::interpreter_ready), field("epoch", &WorkerUp::epoch),
                 field("endpoint", &WorkerUp::endpoint), field("key", &WorkerUp::key),
                 field("clients", &WorkerUp::clients,
                       "the sessions that it was told to admit and not to dismiss, also by a pounced that is gone")
                     .only_if_set());
  }
};
struct InterpreterUp {
  static constexpr char kType[] = "interpreter_up";
  static constexpr About kAbout{
      "S → D", "", "each start of an interpreter has a higher epoch, except in a job that Slurm starts a second time"};
  LeaseId lease;
  WorkerIndex worker;
  Epoch epoch;
  std::string endpoint, key;

  static constexpr auto fields() {
    return table(field("lease", &InterpreterUp::lease), field("worker", &InterpreterUp::worker),
                 field("epoch", &InterpreterUp::epoch), field("endpoint", &InterpreterUp::endpoint),
                 field("key", &InterpreterUp::key));
  }
};
struct InterpreterDown {
  static constexpr char kType[] = "interpreter_down";
  static constexpr About kAbout{"S → D", "",
                                "the error's `signal` or `exit_code`; context: `node`, `signal_name`, `last_lines`, "
                                "`running` (§7). Also of one that left idle, as it was asked to: then `error` is "
                                "`lease_ended`, without these"};
  LeaseId lease;
  WorkerIndex worker;
  Epoch epoch;
  // kWorkerCrashed | kOutOfMemory | kCancelled | kLeaseEnded (it left while idle, which is no failure), with signal or
  // exit_code. context, for people: these, node, signal_name, last_lines, and `running`, the id of the task that ran
  // then (or empty).
  Error error;
  bool restarting = true;
  EndedInterpreter ended{};

  static constexpr auto fields() {
    return table(field("lease", &InterpreterDown::lease), field("worker", &InterpreterDown::worker),
                 field("epoch", &InterpreterDown::epoch), field("error", &InterpreterDown::error),
                 field("restarting", &InterpreterDown::restarting), part(&InterpreterDown::ended));
  }
};
struct WorkerBeat {
  static constexpr char kType[] = "worker_beat";
  static constexpr About kAbout{"S → D", "",
                                "every `heartbeat_ms`, when the last task has ended, and when `state` changes. The "
                                "figures are of the job since it began"};
  LeaseId lease;
  WorkerIndex worker;
  std::uint32_t running = 0;
  bool leaving = false;
  model::JobFigures job;
  std::uint32_t warnings = 0;
  NamespaceState state = NamespaceState::kSaved;
  std::string loading{};
  model::Reported reported{};
  model::UseNow now{};

  static constexpr auto fields() {
    return table(
        field("lease", &WorkerBeat::lease), field("worker", &WorkerBeat::worker),
        field("running", &WorkerBeat::running,
              "tasks queued or running in the interpreter; one more while it is `saving` and not told to end"),
        field("leaving", &WorkerBeat::leaving, "the last one: the job ends, and Slurm can say why"),
        part(&WorkerBeat::job),
        field("warnings", &WorkerBeat::warnings,
              "so often the batch system has warned the job of its end: pounced asks it when and why"),
        field("state", &WorkerBeat::state,
              "of the variables that the tasks left: `saved` (nothing would be lost), `saving`, `unsaved` (one cannot "
              "be saved), `stepping` (the loop that runs can be left between two steps), "
              "`kept` (what runs goes on without its client)"),
        field("loading", &WorkerBeat::loading, "the module that is loaded before a task needs it").only_if_set(),
        field("reported", &WorkerBeat::reported, "what programs of this worker reported last: those of *reported*")
            .only_if_set(),
        field("now", &WorkerBeat::now, "what this worker uses at the moment: those of *use now*").only_if_set());
  }
};
struct WorkerGpus {
  static constexpr char kType[] = "worker_gpus";
  static constexpr About kAbout{"S → D", "",
                                "when the driver has told, when something of it has changed, and after each "
                                "`worker_up`. A worker without GPUs, or without their "
                                "driver's library, does not say it"};
  LeaseId lease;
  WorkerIndex worker;
  std::string node;
  std::vector<model::GpuRow> gpus{};
  std::string gpu_direct_storage{};
  std::vector<model::TaskGpuUse> tasks{};

  static constexpr auto fields() {
    return table(field("lease", &WorkerGpus::lease), field("worker", &WorkerGpus::worker),
                 field("node", &WorkerGpus::node),
                 field("gpus", &WorkerGpus::gpus, "of this worker; those of *device*"),
                 field("gpu_direct_storage", &WorkerGpus::gpu_direct_storage, "`yes`, `compat` or `no`").only_if_set(),
                 field("tasks", &WorkerGpus::tasks, "the last ones; those of *device use*").only_if_set());
  }
};
struct Admit {
  static constexpr char kType[] = "admit";
  static constexpr About kAbout{"D → S → I", "", "this client's key may use the data socket"};
  LeaseId lease;
  SessionId session;
  std::string key;

  static constexpr auto fields() {
    return table(field("lease", &Admit::lease), field("session", &Admit::session), field("key", &Admit::key));
  }
};
struct Dismiss {
  static constexpr char kType[] = "dismiss";
  static constexpr About kAbout{"D → S → I", "", "cancel its tasks, forget its key and objects"};
  LeaseId lease;
  SessionId session;
  Cause cause{};

  static constexpr auto fields() {
    return table(field("lease", &Dismiss::lease), field("session", &Dismiss::session),
                 field("cause", &Dismiss::cause).only_if_set());
  }
};
struct Walltime {
  static constexpr char kType[] = "walltime";
  static constexpr About kAbout{"D → S → I", "",
                                "when the job's time ends: as soon as Slurm has said it, and when it changes"};
  LeaseId lease;
  std::int64_t end_time_s = 0;
  bool preempted = false;

  static constexpr auto fields() {
    return table(
        field("lease", &Walltime::lease), field("end_time_s", &Walltime::end_time_s),
        field("preempted", &Walltime::preempted, "a job that goes first takes its place: that is its grace's end")
            .only_if_set());
  }
  bool operator==(const Walltime&) const = default;
};
struct YieldSteps {
  static constexpr char kType[] = "yield_steps";
  static constexpr About kAbout{
      "D → S → I", "",
      "somebody waits for what the job holds: a loop of `pounce.steps` that runs is left between two steps"};
  LeaseId lease;

  static constexpr auto fields() { return table(field("lease", &YieldSteps::lease)); }
};
struct EndWorker {
  static constexpr char kType[] = "end_worker";
  static constexpr About kAbout{"D → S → I", "",
                                "end the process tree; with `only_if_idle` stay if there is a task and say so in "
                                "`worker_beat`"};
  LeaseId lease;
  Cause cause{};
  bool only_if_idle = false;

  static constexpr auto fields() {
    return table(field("lease", &EndWorker::lease), field("cause", &EndWorker::cause).only_if_set(),
                 field("only_if_idle", &EndWorker::only_if_idle));
  }
};

// ---- supervisor and interpreter: an inherited socketpair, length-prefixed headers -----------------------------
// Also admit, dismiss, walltime, yield_steps and end_worker.

struct Ready {
  static constexpr char kType[] = "ready";
  static constexpr About kAbout{"I → S", "", "the data socket is bound"};
  std::string endpoint, key;

  static constexpr auto fields() { return table(field("endpoint", &Ready::endpoint), field("key", &Ready::key)); }
};
struct Activity {
  static constexpr char kType[] = "activity";
  static constexpr About kAbout{"I → S", "", "on change, and every second while a client is there"};
  std::uint32_t running = 0;
  std::int64_t client_seen_ms_ago = -1;
  NamespaceState state = NamespaceState::kSaved;
  bool stays = false;
  std::string loading{};
  bool held = false;
  model::Reported reported{};

  static constexpr auto fields() {
    return table(
        field("running", &Activity::running,
              "tasks; not told to end, one more while it is `saving`, and one while it stays for an outcome that is on "
              "its way"),
        field("client_seen_ms_ago", &Activity::client_seen_ms_ago, "-1: never heard"), field("state", &Activity::state),
        field(
            "stays", &Activity::stays,
            "the answer to `end_worker` with `only_if_idle`: there is a task; one that leaves does so without a word"),
        field("loading", &Activity::loading, "as in `worker_beat`").only_if_set(),
        field("held", &Activity::held, "as in *figures*, since the interpreter began").only_if_set(),
        field("reported", &Activity::reported, "as in `worker_beat`").only_if_set());
  }
};

}  // namespace pounce::protocol
