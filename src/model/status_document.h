// The document for `pouncectl status`, and the line kept of a lease that has worked (docs/protocol.md §8). pounced
// writes causes and figures; the program that shows them adds the sentences (src/messages). Values. Thread: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/job.h"
#include "model/worker_report.h"
#include "pounce/cause.h"
#include "pounce/error.h"
#include "pounce/fields.h"
#include "pounce/resources.h"

namespace pounce::model {

struct HistoryLine {
  double ago_s = 0;
  Cause cause;
  std::string from, to, what;

  static constexpr auto fields() {
    return table(field("ago_s", &HistoryLine::ago_s), field("cause", &HistoryLine::cause).only_if_set(),
                 field("from", &HistoryLine::from, "of a change of state").only_if_set(),
                 field("to", &HistoryLine::to).only_if_set(),
                 field("what", &HistoryLine::what, "their sentence, put by who shows it").only_if_set());
  }
};

struct Used {
  JobFigures figures;
  std::string suggestion;
  std::vector<GpuRow> gpus{};
  std::vector<TaskGpuUse> gpu_tasks{};

  static constexpr auto fields() {
    return table(
        part(&Used::figures),
        field("suggestion", &Used::suggestion, "what to ask for next time: a sentence, put by who shows it")
            .only_if_set(),
        field("gpu_facts", &Used::gpus, "what its workers' driver told of them: those of *device*").only_if_set(),
        field("gpu_tasks", &Used::gpu_tasks, "of the last tasks: those of *device use*").only_if_set());
  }
};

struct LeaseRow {
  std::string lease, state;
  Cause cause;
  std::int64_t not_before_s = 0;
  std::string reason;
  Resources resources;
  std::uint32_t job = 0;
  std::string node, devices;
  QueueWait wait;
  std::int64_t start_s = 0, end_s = 0;
  std::uint32_t waiting = 0, running = 0;
  bool worker_linked = false, release_asked = false;
  std::uint32_t workers_ready = 0;
  std::string session;
  std::uint32_t request = 0;
  double age_s = 0, state_s = 0;
  std::optional<Used> used;
  std::vector<HistoryLine> history;
  std::vector<std::string> loading{};
  Given given;
  Reported reported{};
  UseNow now{};

  static constexpr auto fields() {
    return table(field("lease", &LeaseRow::lease), field("state", &LeaseRow::state, "a word of `states.md`"),
                 field("cause", &LeaseRow::cause, "why it is in this state").only_if_set(),
                 field("not_before_s", &LeaseRow::not_before_s, "it is not asked for earlier").only_if_set(),
                 field("reason", &LeaseRow::reason, "its sentence, put by who shows it").only_if_set(),
                 part(&LeaseRow::resources), field("job", &LeaseRow::job), field("node", &LeaseRow::node),
                 field("devices", &LeaseRow::devices), part(&LeaseRow::wait),
                 field("start_s", &LeaseRow::start_s, "when its job started; 0: not known"),
                 field("end_s", &LeaseRow::end_s, "when its time ends; 0: not known"), part(&LeaseRow::given),
                 field("waiting", &LeaseRow::waiting, "tasks not sent yet"),
                 field("running", &LeaseRow::running, "tasks, by the workers' last beats"),
                 field("loading", &LeaseRow::loading, "modules that are loaded before a task needs them").only_if_set(),
                 field("worker_linked", &LeaseRow::worker_linked, "one of them at least"),
                 field("workers_ready", &LeaseRow::workers_ready), field("release_asked", &LeaseRow::release_asked),
                 field("session", &LeaseRow::session, "empty: nobody claims it"), field("request", &LeaseRow::request),
                 field("age_s", &LeaseRow::age_s), field("state_s", &LeaseRow::state_s, "in this state"),
                 field("reported", &LeaseRow::reported,
                       "what its programs reported last, of the first worker that tells something: those of *reported*")
                     .only_if_set(),
                 field("now", &LeaseRow::now, "what it uses at the moment: those of *use now*").only_if_set(),
                 field("used", &LeaseRow::used, "since a worker has told"),
                 field("history", &LeaseRow::history, "what happened when"));
  }
};

struct EndedLease {
  std::string lease;
  std::uint32_t job = 0;
  std::string node;
  Resources resources;
  Used used;
  std::int64_t end_s = 0;
  ErrorCode code = ErrorCode::kLeaseEnded;
  Cause cause;
  std::string reason;

  static constexpr auto fields() {
    return table(field("lease", &EndedLease::lease), field("job", &EndedLease::job), field("node", &EndedLease::node),
                 part(&EndedLease::resources), part(&EndedLease::used), field("end_s", &EndedLease::end_s, "unix time"),
                 field("code", &EndedLease::code, "of `errors.md`: what a task on it would have got"),
                 field("cause", &EndedLease::cause).only_if_set(),
                 field("reason", &EndedLease::reason, "its sentence, put by who shows it").only_if_set());
  }
};

struct SessionRow {
  std::string session;
  std::uint32_t pid = 0;
  std::string host, directory;

  static constexpr auto fields() {
    return table(field("session", &SessionRow::session), field("pid", &SessionRow::pid),
                 field("host", &SessionRow::host), field("directory", &SessionRow::directory));
  }
};

struct ListenerRow {
  std::string name;
  std::uint64_t connections = 0, most = 0;
  bool full = false;
  std::uint64_t times_full = 0;

  static constexpr auto fields() {
    return table(field("name", &ListenerRow::name, "`handshake` or `control`"),
                 field("connections", &ListenerRow::connections, "that it holds, from other machines and users"),
                 field("most", &ListenerRow::most, "that it may hold"),
                 field("full", &ListenerRow::full, "at this moment newcomers wait until one of these has gone"),
                 field("times_full", &ListenerRow::times_full, "since the start"));
  }
};

struct PolicyInUse {
  std::string path, trouble;

  static constexpr auto fields() {
    return table(field("path", &PolicyInUse::path),
                 field("trouble", &PolicyInUse::trouble, "why the file is not used"));
  }
};

struct RpcCounts {
  std::uint64_t submits = 0, polls = 0, looks = 0, reconciles = 0, cancels = 0, events = 0, ignored = 0;

  static constexpr auto fields() {
    return table(field("submits", &RpcCounts::submits), field("polls", &RpcCounts::polls),
                 field("looks", &RpcCounts::looks), field("reconciles", &RpcCounts::reconciles),
                 field("cancels", &RpcCounts::cancels), field("events", &RpcCounts::events),
                 field("ignored", &RpcCounts::ignored));
  }
};

struct StatusDocument {
  std::string version;
  std::int32_t pid = 0;
  std::string instance, cluster, launcher, libslurm, config;
  PolicyInUse policy;
  std::string state_folder;
  std::uint32_t stand_in_gpus = 0;
  bool reconciled = false;
  std::vector<ListenerRow> listeners;
  std::vector<SessionRow> sessions;
  RpcCounts rpc;
  std::vector<LeaseRow> leases;
  std::vector<EndedLease> ended;
  std::vector<NodeRow> nodes{};

  static constexpr auto fields() {
    return table(
        field("version", &StatusDocument::version), field("pid", &StatusDocument::pid),
        field("instance", &StatusDocument::instance), field("cluster", &StatusDocument::cluster),
        field("launcher", &StatusDocument::launcher), field("libslurm", &StatusDocument::libslurm),
        field("config", &StatusDocument::config, "the configuration file; empty: none"),
        field("policy", &StatusDocument::policy), field("state_folder", &StatusDocument::state_folder),
        field("stand_in_gpus", &StatusDocument::stand_in_gpus),
        field("reconciled", &StatusDocument::reconciled, "a reconciliation has succeeded since the start"),
        field("listeners", &StatusDocument::listeners), field("sessions", &StatusDocument::sessions),
        field("rpc", &StatusDocument::rpc), field("leases", &StatusDocument::leases),
        field("ended", &StatusDocument::ended, "the last that ended after they had worked"),
        field("nodes", &StatusDocument::nodes,
              "those of the leases whose driver told of their GPUs, and those that are avoided: those of *node*"));
  }
};

}  // namespace pounce::model
