// pouncectl queue: this user's jobs of pounce in Slurm's queue.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "pouncectl/commands.h"
#include "pouncectl/daemon_query.h"
#include "pouncectl/error_report.h"
#include "pouncectl/output.h"

namespace pounce::ctl {
namespace {

nlohmann::json as_json(const protocol::QueueRow& row) {
  return {{"job", row.job},       {"name", row.name},       {"class", row.class_name},         {"state", row.state},
          {"reason", row.reason}, {"why", row.why}, {"node", row.node},       {"devices", row.devices},          {"lease", row.lease},
          {"submit_time_s", row.submit_time_s}, {"start_time_s", row.start_time_s}, {"end_time_s", row.end_time_s}};
}

void print_table(const protocol::QueueIs& queue) {
  if (queue.rows.empty()) {
    std::puts("no jobs of pounce");
    return;
  }
  std::printf("%-8s %-10s %-10s %-8s %-24s %s\n", "JOB", "CLASS", "STATE", "NODE", "DEVICES", "REASON");
  for (const auto& row : queue.rows)
    std::printf("%-8u %-10s %-10s %-8s %-24s %s\n", row.job, row.class_name.c_str(), row.state.c_str(),
                row.node.c_str(), row.devices.c_str(), (row.why.empty() ? row.reason : row.why).c_str());
}

}  // namespace

int queue(bool json) {
  const auto daemon = find_daemon();
  if (!daemon) return report(daemon.error(), json);
  const auto answer = ask(*daemon, protocol::QueueAsk{1});
  if (!answer) return report(answer.error(), json);
  const auto* queue = std::get_if<protocol::QueueIs>(&*answer);
  if (queue == nullptr) return report(Error{ErrorCode::kProtocol, "pounced answered something else", {}, {}}, json);
  if (!queue->error.empty()) return report(queue->error, json);
  if (!json) {
    print_table(*queue);
    return kOk;
  }
  nlohmann::json document = {{"launcher", queue->launcher}, {"jobs", nlohmann::json::array()}};
  for (const auto& row : queue->rows) document["jobs"].push_back(as_json(row));
  print_json(document);
  return kOk;
}

}  // namespace pounce::ctl
