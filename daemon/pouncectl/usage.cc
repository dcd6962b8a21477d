// pouncectl usage: the use by class, user and mode, and how much of it computed.
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>

#include "pouncectl/commands.h"
#include "pouncectl/error_report.h"
#include "pouncectl/libslurm.h"
#include "pouncectl/output.h"
#include "pouncectl/own_accounting.h"
#include "pouncectl/time_span.h"
#include "pouncectl/usage_table.h"

namespace pounce::ctl {
namespace {

using nlohmann::json;

json as_json(const UsageFacts& facts, const std::vector<std::string>& by) {
  json document = {{"cluster", facts.cluster}, {"from_s", facts.from_s}, {"to_s", facts.to_s},
                   {"from_slurmdbd", facts.has_database}, {"shares", json::array()}};
  for (const UsedShare& share : grouped(facts.shares, by)) {
    json row = {{"jobs", share.jobs}, {"cpu_s", share.cpu_s}, {"gpu_s", share.gpu_s}, {"gpu_known_s", share.told_s}, {"gpu_said_s", share.said_s},
                {"gpu_busy_s", share.told_s > 0 ? json(share.busy_s) : json()}};
    for (const std::string& one : by) row[one] = one == "class" ? share.class_name : one == "user" ? share.user : share.mode;
    document["shares"].push_back(std::move(row));
  }
  return document;
}

// How an admin can complete incomplete figures.
void print_gaps(const UsageFacts& facts) {
  if (!facts.has_database)
    std::cout << "This Slurm has no slurmdbd: only your own leases are known here, from pounce's own records.\n"
                 "With slurmdbd (AccountingStorageType=accounting_storage/slurmdbd) it is everybody's jobs.\n";
  else if (!facts.counts_gpus)
    std::cout << "Slurm does not count GPUs here: AccountingStorageTRES=gres/gpu in slurm.conf, then restart slurmctld.\n";
  if (facts.has_database && !facts.keeps_comments)
    std::cout << "What pounce's leases did with their time is not kept: AccountingStoreFlags=job_comment in slurm.conf.\n";
  if (facts.has_database && !facts.counts_gpu_use)
    std::cout << "How busy the GPUs of other jobs were is not measured here: that needs NVML on the nodes and gres/gpuutil "
                 "in AccountingStorageTRES.\n";
}

void print(const UsageFacts& facts, const UsageOptions& options) {
  print_line("Cluster " + facts.cluster + ", the last " + options.since);
  std::cout << (facts.shares.empty() ? "no job held anything\n" : columns(usage_cells(facts.shares, options.by)));
  if (const std::string line = idle_line(facts.shares); !line.empty()) std::cout << line << '\n';
  print_gaps(facts);
}

}  // namespace

int usage(const UsageOptions& options, bool json_wanted) {
  const auto span = seconds_of(options.since);
  if (!span) {
    report(span.error(), json_wanted);
    return kUsage;
  }
  auto facts = ask_slurm(slurm::AskUsage{std::time(nullptr) - *span});
  if (!facts) return report(facts.error(), json_wanted);
  if (!facts->has_database) facts->shares = own_usage(facts->cluster, facts->from_s, facts->to_s);
  if (json_wanted)
    print_json(as_json(*facts, options.by));
  else
    print(*facts, options);
  return kOk;
}

}  // namespace pounce::ctl
