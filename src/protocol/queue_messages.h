// Questions about the batch system and their answers: this user's jobs of pounce, and what the user may use now
// (docs/protocol.md §6). Values only. Thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pounce/choice.h"
#include "pounce/cluster.h"
#include "pounce/error.h"
#include "pounce/job.h"

namespace pounce::protocol {

struct QueueAsk {  // client or pouncectl -> daemon
  static constexpr char kType[] = "queue_ask";
  std::uint32_t request = 0;
};
struct QueueRow {
  std::uint32_t job = 0;
  std::string name, class_name, state, reason, node, devices, lease;
  std::int64_t submit_time_s = 0, start_time_s = 0, end_time_s = 0;
  std::string why;  // of a queued one: the reason in plain words
};
struct QueueIs {  // daemon -> asker: this user's own jobs of pounce, as Slurm shows them now
  static constexpr char kType[] = "queue_is";
  std::uint32_t request = 0;
  std::vector<QueueRow> rows;
  Error error;            // error.text empty: fine
  std::string launcher;   // "slurm" | "local"
};
struct ClassesAsk {  // client or pouncectl -> daemon
  static constexpr char kType[] = "classes_ask";
  std::uint32_t request = 0;
  bool compare = false;  // with this request, which waits: the answer has the choices
  Resources asks{};
  LimitUse limit{};      // that it waits for
  Eta eta{};
};
struct ClassesIs {  // daemon -> asker: what this user may use now
  static constexpr char kType[] = "classes_is";
  std::uint32_t request = 0;
  std::vector<ClassUse> classes;
  std::vector<GpuUse> gpus;
  Error error;           // error.text empty: fine
  std::string launcher;  // "slurm" | "local"
  std::int32_t cpus_free = -1;  // -1: not known
  Eta cpu_eta{};
  std::vector<Choice> choices{};  // where they were asked for
};

}  // namespace pounce::protocol
