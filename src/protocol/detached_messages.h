// The messages about detached tasks (docs/protocol.md §10). Values. Thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/job.h"
#include "pounce/error.h"
#include "pounce/fields.h"
#include "pounce/resources.h"
#include "protocol/message_limits.h"

namespace pounce::protocol {

struct SubmitDetached {
  static constexpr char kType[] = "submit_detached";
  static constexpr About kAbout{"K → D", "", "§10"};
  std::uint32_t question = 0;
  std::string name;
  TaskId task;
  Resources resources;
  std::uint32_t retries = 0;

  static constexpr auto fields() {
    return table(field("question", &SubmitDetached::question), field("name", &SubmitDetached::name),
                 field("task", &SubmitDetached::task), field("resources", &SubmitDetached::resources),
                 field("retries", &SubmitDetached::retries));
  }
};
struct DetachedAsk {
  static constexpr char kType[] = "detached_ask";
  static constexpr About kAbout{"K → D", "", "without a name: all, without their errors"};
  std::uint32_t question = 0;
  std::string name;

  static constexpr auto fields() {
    return table(field("question", &DetachedAsk::question), field("name", &DetachedAsk::name));
  }
};
struct CancelDetached {
  static constexpr char kType[] = "cancel_detached";
  static constexpr About kAbout{"K → D", "", "cancel it if it has not ended; with `forget` remove what is kept"};
  std::uint32_t question = 0;
  std::string name;
  bool forget = false;

  static constexpr auto fields() {
    return table(field("question", &CancelDetached::question), field("name", &CancelDetached::name),
                 field("forget", &CancelDetached::forget));
  }
};
struct RelayDetached {
  static constexpr char kType[] = "relay_detached";
  static constexpr About kAbout{"K → D", "",
                                "of a carried task: may this kernel take call and outcome across? With `digest` or "
                                "`error`: it has"};
  std::uint32_t question = 0;
  std::string name;
  bool ok = false;
  std::string digest;
  Error error;

  static constexpr auto fields() {
    return table(field("question", &RelayDetached::question), field("name", &RelayDetached::name),
                 field("ok", &RelayDetached::ok, "the function returned"), field("digest", &RelayDetached::digest),
                 field("error", &RelayDetached::error));
  }
};
struct DetachedRow {
  std::string name;
  TaskId task;
  std::string state = "waiting";
  Cause cause{};
  LeaseId lease;
  std::uint32_t job = 0;
  std::string node;
  bool relayed = false;
  bool ok = false;
  std::string digest;
  std::uint64_t size = 0;
  std::int64_t submit_time_s = 0, end_time_s = 0;
  Error error;
  std::string class_name{};
  model::QueueWait wait{};  // for its job while the job is queued
  std::string reason{};

  static constexpr auto fields() {
    return table(field("name", &DetachedRow::name), field("task", &DetachedRow::task),
                 field("state", &DetachedRow::state, "`waiting`, `running`, `done`, `forgotten`"),
                 field("cause", &DetachedRow::cause, "why, while it waits").only_if_set(),
                 field("reason", &DetachedRow::reason, "its sentence, put by who shows it").only_if_set(),
                 field("lease", &DetachedRow::lease), field("job", &DetachedRow::job),
                 field("node", &DetachedRow::node),
                 field("relayed", &DetachedRow::relayed,
                       "its worker does not see the results folder: a kernel takes call and outcome across"),
                 field("ok", &DetachedRow::ok, "of a kept outcome: the function returned"),
                 field("digest", &DetachedRow::digest,
                       "BLAKE2b-256 of the kept outcome, hex; its file's name. Empty: none was kept"),
                 field("size", &DetachedRow::size), field("submit_time_s", &DetachedRow::submit_time_s),
                 field("end_time_s", &DetachedRow::end_time_s),
                 field("error", &DetachedRow::error, "done without a kept outcome: why"),
                 field("class", &DetachedRow::class_name, "of its job, as Slurm has it"), part(&DetachedRow::wait));
  }
};
struct DetachedList {
  static constexpr char kType[] = "detached_list";
  static constexpr About kAbout{"D → K", "", "the answer; and, with `question` 0, each change of a detached task"};
  std::uint32_t question = 0;
  std::vector<DetachedRow> rows;
  Error error;

  static constexpr auto fields() {
    return table(field("question", &DetachedList::question), field("rows", &DetachedList::rows),
                 field("error", &DetachedList::error, "why there are none").only_if_set());
  }
};
struct RunDetached {
  static constexpr char kType[] = "run_detached";
  static constexpr About kAbout{"D → S → I", "",
                                "§10. Repeated freely; passed on to the interpreter of that epoch only"};
  LeaseId lease;
  WorkerIndex worker;
  Epoch epoch;
  SessionId session;
  TaskId task;
  std::string folder;

  static constexpr auto fields() {
    return table(
        field("lease", &RunDetached::lease), field("worker", &RunDetached::worker),
        field("epoch", &RunDetached::epoch, "for this interpreter only"), field("session", &RunDetached::session),
        field("task", &RunDetached::task),
        field("folder", &RunDetached::folder, "of this name: call and log are there, the outcome comes there"));
  }
};
struct DetachedEnded {
  static constexpr char kType[] = "detached_ended";
  static constexpr About kAbout{"I → S → D", "",
                                "again, whenever `run_detached` is repeated. `digest` empty: nothing was kept, `error` "
                                "says why"};
  LeaseId lease;
  WorkerIndex worker;
  Epoch epoch;
  TaskId task;
  bool ok = false;
  std::string digest;
  Error error;

  static constexpr auto fields() {
    return table(field("lease", &DetachedEnded::lease), field("worker", &DetachedEnded::worker),
                 field("epoch", &DetachedEnded::epoch), field("task", &DetachedEnded::task),
                 field("ok", &DetachedEnded::ok), field("digest", &DetachedEnded::digest),
                 field("error", &DetachedEnded::error));
  }
};

}  // namespace pounce::protocol
