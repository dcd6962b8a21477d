// The messages about named tasks (docs/protocol.md §10). Values. Thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pounce/error.h"
#include "pounce/ids.h"
#include "pounce/job.h"
#include "pounce/resources.h"

namespace pounce::protocol {

struct NameTask {  // client -> daemon: its folder `.<task>` in the results folder holds call and log
  static constexpr char kType[] = "name_task";
  std::uint32_t request = 0;
  std::string name;
  TaskId task;
  Resources resources;
  std::uint32_t retries = 0;
};
struct NameAsk {  // client -> daemon; without a name: all of them, without their errors
  static constexpr char kType[] = "name_ask";
  std::uint32_t request = 0;
  std::string name;
};
struct NameEnd {  // client -> daemon: cancel it if it has not ended
  static constexpr char kType[] = "name_end";
  std::uint32_t request = 0;
  std::string name;
  bool forget = false;  // and remove what is kept of it
};
struct NameCarry {  // client -> daemon: it takes a carried task's call and outcome across
  static constexpr char kType[] = "name_carry";
  std::uint32_t request = 0;
  std::string name;
  bool ok = false;     // as in NamedRow
  std::string digest;  // of the outcome, which is in the folder now; empty: it is about to
  Error error;         // with an empty digest: it could not be kept
};
struct NamedRow {
  std::string name;
  TaskId task;
  std::string state = "waiting";  // waiting | running | done | forgotten
  std::string reason;             // while it waits, in words
  LeaseId lease;
  std::uint32_t job = 0;
  std::string node;
  bool carried = false;  // its worker does not see the results folder: a kernel takes call and outcome across
  bool ok = false;     // of a kept outcome: the function returned
  std::string digest;  // BLAKE2b-256 of the kept outcome, hex; its file's name. Empty: none was kept
  std::uint64_t size = 0;
  std::int64_t submit_time_s = 0, end_time_s = 0;
  Error error;  // done without a kept outcome: why
  std::string class_name{}, slurm_reason{};  // of its job while that is queued, as in LeaseStatus
  std::int32_t ahead = -1;
  std::int64_t start_estimate_s = 0;
  LimitUse limit{};
  Eta eta{};
};
struct NamesAre {  // daemon -> client: the answer, and unasked (request 0) on each change
  static constexpr char kType[] = "names_are";
  std::uint32_t request = 0;
  std::vector<NamedRow> rows;
  Error error;  // error.text empty: fine
};
struct RunNamed {  // daemon -> supervisor -> interpreter: repeated freely, it runs once
  static constexpr char kType[] = "run_named";
  LeaseId lease;
  WorkerIndex worker;
  Epoch epoch;  // for this interpreter only
  SessionId session;
  TaskId task;
  std::string folder;  // of this name: call and log are there, the outcome comes there
};
struct NamedEnded {  // interpreter -> supervisor -> daemon; repeated when run_named is
  static constexpr char kType[] = "named_ended";
  LeaseId lease;
  WorkerIndex worker;
  Epoch epoch;
  TaskId task;
  bool ok = false;
  std::string digest;  // as in NamedRow; empty: nothing was kept, and error says why
  Error error;
};

}  // namespace pounce::protocol
