// Questions about the batch system and their answers: this user's jobs of pounce, and what the user may use now
// (docs/protocol.md §6). Values only. Thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/job.h"
#include "pounce/error.h"
#include "pounce/fields.h"
#include "protocol/message_limits.h"

namespace pounce::protocol {

struct QueueAsk {
  static constexpr char kType[] = "queue_ask";
  static constexpr About kAbout{"K, P → D", "", ""};
  std::uint32_t question = 0;

  static constexpr auto fields() { return table(field("question", &QueueAsk::question)); }
};
struct QueueRow {
  std::uint32_t job = 0;
  std::string name, class_name, state, reason, node, devices, lease;
  std::int64_t submit_time_s = 0, start_time_s = 0, end_time_s = 0;
  std::string word{};
  LimitUse limit{};
  std::int32_t ahead = -1;
  std::string why{};

  static constexpr auto fields() {
    return table(field("job", &QueueRow::job), field("name", &QueueRow::name), field("class", &QueueRow::class_name),
                 field("state", &QueueRow::state), field("reason", &QueueRow::reason), field("node", &QueueRow::node),
                 field("devices", &QueueRow::devices), field("lease", &QueueRow::lease),
                 field("submit_time_s", &QueueRow::submit_time_s), field("start_time_s", &QueueRow::start_time_s),
                 field("end_time_s", &QueueRow::end_time_s),
                 field("why", &QueueRow::why, "of a queued one: the sentence of what follows, put by who shows it")
                     .only_if_set(),
                 field("word", &QueueRow::word, "of a queued one: Slurm's word for its wait; `reason` may say more")
                     .only_if_set(),
                 field("limit", &QueueRow::limit, "that it waits for").only_if_set(),
                 field("ahead", &QueueRow::ahead, "queued jobs that go first").only_if_set());
  }
};
struct QueueIs {
  static constexpr char kType[] = "queue_is";
  static constexpr About kAbout{"D → K, P", "", "this user's jobs of pounce as the batch system shows them now"};
  std::uint32_t question = 0;
  std::vector<QueueRow> rows;
  Error error;
  std::string launcher;

  static constexpr auto fields() {
    return table(field("question", &QueueIs::question), field("rows", &QueueIs::rows),
                 field("error", &QueueIs::error, "why there are none").only_if_set(),
                 field("launcher", &QueueIs::launcher, "`slurm` or `local`"));
  }
};
struct ClassesAsk {
  static constexpr char kType[] = "classes_ask";
  static constexpr About kAbout{"K, P → D", "",
                                "with `compare` the answer has `choices`: what `asks`, which waits for this limit "
                                "and until then, could ask for instead"};
  std::uint32_t question = 0;
  bool compare = false;
  Resources asks{};
  LimitUse limit{};
  Eta eta{};

  static constexpr auto fields() {
    return table(field("question", &ClassesAsk::question), field("compare", &ClassesAsk::compare),
                 field("asks", &ClassesAsk::asks), field("limit", &ClassesAsk::limit, "that it waits for"),
                 field("eta", &ClassesAsk::eta));
  }
};
struct ClassesIs {
  static constexpr char kType[] = "classes_is";
  static constexpr About kAbout{"D → K, P", "",
                                "the classes that are open to this user, what is used of them, and the cluster's "
                                "GPUs"};
  std::uint32_t question = 0;
  std::vector<ClassUse> classes;
  std::vector<GpuUse> gpus;
  Error error;
  std::string launcher;
  std::int32_t cpus_free = -1;
  Eta cpu_eta{};
  std::vector<Choice> choices{};

  static constexpr auto fields() {
    return table(field("question", &ClassesIs::question), field("classes", &ClassesIs::classes),
                 field("gpus", &ClassesIs::gpus), field("cpus_free", &ClassesIs::cpus_free, "-1: not known"),
                 field("cpu_eta", &ClassesIs::cpu_eta),
                 field("choices", &ClassesIs::choices, "where they were asked for"),
                 field("error", &ClassesIs::error, "why there are none").only_if_set(),
                 field("launcher", &ClassesIs::launcher, "`slurm` or `local`"));
  }
};

}  // namespace pounce::protocol
