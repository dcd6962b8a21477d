// pouncectl classes: the classes open to this user, and the free GPUs.
#include <iostream>
#include <nlohmann/json.hpp>

#include "pouncectl/class_cells.h"
#include "pouncectl/columns.h"
#include "pouncectl/commands.h"
#include "pouncectl/daemon_query.h"
#include "pouncectl/error_report.h"
#include "pouncectl/output.h"

namespace pounce::ctl {
namespace {

using nlohmann::json;

// Slurm's limit, its use and its rest; nulls without a limit.
json amount(std::int64_t most, std::int64_t used) {
  return {{"most", most < 0 ? json() : json(most)},
          {"used", used},
          {"left", most < 0 ? json() : json(std::max<std::int64_t>(most - used, 0))}};
}

json as_json(const protocol::ClassesIs& answer) {
  json document = {{"launcher", answer.launcher}, {"classes", json::array()}, {"gpus", json::array()}};
  for (const ClassUse& one : answer.classes)
    document["classes"].push_back({{"class", one.name},
                                   {"default", one.preset},
                                   {"time_min", one.time_min < 0 ? json() : json(one.time_min)},
                                   {"running_jobs", amount(one.jobs_most, one.jobs_used)},
                                   {"jobs", amount(one.submits_most, one.submits_used)},
                                   {"gpus", amount(one.gpus_most, one.gpus_used)},
                                   {"gpus_of_one_job", one.gpus_job < 0 ? json() : json(one.gpus_job)}});
  for (const GpuUse& one : answer.gpus)
    document["gpus"].push_back({{"type", one.type}, {"total", one.total}, {"free", one.free}});
  return document;
}

}  // namespace

int classes(bool json_wanted) {
  const auto daemon = find_daemon();
  if (!daemon) return report(daemon.error(), json_wanted);
  const auto answer = ask(*daemon, protocol::ClassesAsk{1}, std::chrono::seconds(40));
  if (!answer) return report(answer.error(), json_wanted);
  const auto* known = std::get_if<protocol::ClassesIs>(&*answer);
  if (known == nullptr) return report(Error{ErrorCode::kProtocol, "pounced answered something else", {}, {}}, json_wanted);
  if (!known->error.empty()) return report(known->error, json_wanted);
  if (json_wanted)
    print_json(as_json(*known));
  else if (known->launcher == "local")
    std::cout << "no classes: work runs on this machine\n";
  else
    std::cout << (known->classes.empty() ? "no classes: none is open to you, or this Slurm has no slurmdbd (pouncectl doctor)\n"
                                        : columns(class_cells(known->classes)))
              << '\n'
              << columns(gpu_cells(known->gpus));
  return kOk;
}

}  // namespace pounce::ctl
