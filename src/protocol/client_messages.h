// Between a client, or pouncectl, and the daemon. Part of messages.h. Thread: any (values).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/job.h"
#include "model/task.h"
#include "model/worker_report.h"
#include "pounce/error.h"
#include "pounce/fields.h"
#include "pounce/resources.h"
#include "protocol/message_limits.h"

namespace pounce::protocol {

struct OpenSession {
  static constexpr char kType[] = "open_session";
  static constexpr About kAbout{"K → D", "",
                                "workers start in `directory` with `interpreter` (argv) and these allow-listed "
                                "variables. `interpreter_chosen`: the user chose it, so the site's own does not "
                                "replace it. `relays`: `session` is a detached task's, §10"};
  SessionId session;
  std::uint32_t pid = 0;
  std::string host, directory;
  std::vector<std::string> interpreter;
  std::map<std::string, std::string> environment;
  bool interpreter_chosen = false;
  bool relays = false;

  static constexpr auto fields() {
    return table(field("session", &OpenSession::session), field("pid", &OpenSession::pid),
                 field("host", &OpenSession::host), field("directory", &OpenSession::directory),
                 field("interpreter", &OpenSession::interpreter),
                 field("environment", &OpenSession::environment,
                       "allow-listed names only, and what the interpreter is told of the notebook's process (§6.3); "
                       "never secrets"),
                 field("interpreter_chosen", &OpenSession::interpreter_chosen), field("relays", &OpenSession::relays));
  }
};
struct Demand {
  static constexpr char kType[] = "demand";
  static constexpr About kAbout{"K → D", "", "the whole truth each time: a repeated or lost one does no harm"};
  SessionId session;
  std::vector<Request> requests;

  static constexpr auto fields() {
    return table(field("session", &Demand::session), field("requests", &Demand::requests));
  }
};
struct CloseSession {
  static constexpr char kType[] = "close_session";
  static constexpr About kAbout{"K → D", "", "orderly end: leases nobody else needs are given back at once"};
  SessionId session;

  static constexpr auto fields() { return table(field("session", &CloseSession::session)); }
};
struct Beat {
  static constexpr char kType[] = "beat";
  static constexpr About kAbout{"any → any", "", "§7"};
  bool answer = false;
  std::int64_t sent_ns = 0;
  std::int64_t clock_ns = 0;

  static constexpr auto fields() {
    return table(field("answer", &Beat::answer),
                 field("sent_ns", &Beat::sent_ns, "sender's steady clock; an answer echoes the asker's"),
                 field("clock_ns", &Beat::clock_ns, "answerer's steady clock when answering: gives the clock offset"));
  }
};
struct Granted {
  static constexpr char kType[] = "granted";
  static constexpr About kAbout{"D → K", "",
                                "connect there, with this key pinned. Repeated after a restart of either side"};
  RequestId request;
  LeaseId lease;
  WorkerIndex worker;
  Epoch epoch;
  std::string endpoint;
  std::string key;

  static constexpr auto fields() {
    return table(field("request", &Granted::request), field("lease", &Granted::lease),
                 field("worker", &Granted::worker), field("epoch", &Granted::epoch),
                 field("endpoint", &Granted::endpoint, "tcp://host:port of the interpreter's data socket"),
                 field("key", &Granted::key, "its public CURVE key, Z85"));
  }
};
// The status that the user reads while waiting. `state` is a word of docs/states.md's lease table.
struct LeaseStatus {
  static constexpr char kType[] = "lease_status";
  static constexpr About kAbout{"D → K", "", "on each change; `state` is a word of `states.md`, `cause` why"};
  RequestId request;
  LeaseId lease;
  std::string state;
  Cause cause{};
  std::int64_t not_before_s = 0;
  std::uint32_t job = 0;
  std::string node, devices;  // "g1", "gpu:a100:1(IDX:0)", or "CPU standing in"
  std::int64_t end_time_s = 0;
  std::string class_name;
  model::QueueWait wait;  // for a queued job
  std::string reason{};
  model::Given given{};

  static constexpr auto fields() {
    return table(field("request", &LeaseStatus::request), field("lease", &LeaseStatus::lease),
                 field("state", &LeaseStatus::state),
                 field("cause", &LeaseStatus::cause, "why it is in this state").only_if_set(),
                 field("not_before_s", &LeaseStatus::not_before_s, "it is not asked for earlier").only_if_set(),
                 field("reason", &LeaseStatus::reason, "the sentence of `cause`, put by who shows it").only_if_set(),
                 field("job", &LeaseStatus::job), field("node", &LeaseStatus::node),
                 field("devices", &LeaseStatus::devices),
                 field("end_time_s", &LeaseStatus::end_time_s, "when its walltime ends; 0: not known"),
                 part(&LeaseStatus::given), field("class", &LeaseStatus::class_name, "as Slurm has it"),
                 part(&LeaseStatus::wait));
  }
};
struct WorkerDown {
  static constexpr char kType[] = "worker_down";
  static constexpr About kAbout{
      "D → K", "", "the interpreter died, or left idle; `granted` of another one follows unless the lease ends"};
  LeaseId lease;
  WorkerIndex worker;
  Epoch epoch;
  Error error;
  EndedInterpreter ended{};

  static constexpr auto fields() {
    return table(field("lease", &WorkerDown::lease), field("worker", &WorkerDown::worker),
                 field("epoch", &WorkerDown::epoch),
                 field("error", &WorkerDown::error,
                       "`worker_crashed`, `out_of_memory`, `cancelled`, or `lease_ended` of one that left idle; "
                       "its `signal` or `exit_code`; context: `last_lines` (§7)"),
                 part(&WorkerDown::ended));
  }
};
struct LeaseEnded {
  static constexpr char kType[] = "lease_ended";
  static constexpr About kAbout{"D → K", "", "the last word about this lease"};
  RequestId request;
  LeaseId lease;
  Error error;
  std::int64_t at_s = 0;

  static constexpr auto fields() {
    return table(field("request", &LeaseEnded::request), field("lease", &LeaseEnded::lease),
                 field("error", &LeaseEnded::error), field("at_s", &LeaseEnded::at_s, "when pounced said so, unix"));
  }
};
struct RequestFailed {
  static constexpr char kType[] = "request_failed";
  static constexpr About kAbout{"D → K", "", "cannot be served: its tasks fail with this error"};
  RequestId request;
  Error error;

  static constexpr auto fields() {
    return table(field("request", &RequestFailed::request), field("error", &RequestFailed::error));
  }
};
struct StatusAsk {
  static constexpr char kType[] = "status_ask";
  static constexpr About kAbout{"P → D", "", ""};
  std::uint32_t question = 0;

  static constexpr auto fields() { return table(field("question", &StatusAsk::question)); }
};
struct StatusIs {
  static constexpr char kType[] = "status_is";
  static constexpr About kAbout{"D → P", "", "§8"};
  std::uint32_t question = 0;
  std::string document;

  static constexpr auto fields() {
    return table(field("question", &StatusIs::question), field("document", &StatusIs::document));
  }
};
struct Notice {
  static constexpr char kType[] = "notice";
  static constexpr About kAbout{"D → K", "", "one line for the user"};
  std::string text;

  static constexpr auto fields() { return table(field("text", &Notice::text)); }
};

// A user gives leases back: what pouncectl says on the control channel, and its answer.

// kWhenIdle: after its tasks. kNow: its tasks end with lease_ended. kCancel: its tasks end with job_cancelled and are
// not run again.
enum class ReleaseHow : std::uint8_t { kWhenIdle, kNow, kCancel };
constexpr auto words(ReleaseHow) { return words_of<ReleaseHow>({"when_idle", "now", "cancel"}); }

struct ReleaseAsk {
  static constexpr char kType[] = "release_ask";
  static constexpr About kAbout{"K, P → D", "",
                                "gives leases back. `how`: `when_idle` (their tasks come first), `now` (their tasks "
                                "end with `lease_ended`), `cancel` (with `job_cancelled`: not run again). `by` is in "
                                "the reason that they end with"};
  std::uint32_t question = 0;
  std::vector<LeaseId> leases;
  ReleaseHow how = ReleaseHow::kWhenIdle;
  std::string by;

  static constexpr auto fields() {
    return table(field("question", &ReleaseAsk::question), field("leases", &ReleaseAsk::leases),
                 field("how", &ReleaseAsk::how), field("by", &ReleaseAsk::by));
  }
};
struct ReleaseRow {
  LeaseId lease;
  std::string state;
  std::uint32_t waiting = 0, running = 0;

  static constexpr auto fields() {
    return table(field("lease", &ReleaseRow::lease),
                 field("state", &ReleaseRow::state, "after it was asked; `ended` also for one that is not known"),
                 field("waiting", &ReleaseRow::waiting, "tasks that it still has to do"),
                 field("running", &ReleaseRow::running));
  }
};
struct ReleaseIs {
  static constexpr char kType[] = "release_is";
  static constexpr About kAbout{"D → K, P", "", "what became of each, in the order asked"};
  std::uint32_t question = 0;
  std::vector<ReleaseRow> rows;

  static constexpr auto fields() {
    return table(field("question", &ReleaseIs::question), field("rows", &ReleaseIs::rows));
  }
};

}  // namespace pounce::protocol
