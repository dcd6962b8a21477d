// pouncectl report: what leases used of what they asked for, with a suggestion; those that ended lately too.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/lease/suggestion.h"
#include "pouncectl/columns.h"
#include "pouncectl/commands.h"
#include "pouncectl/daemon_link.h"
#include "pouncectl/lease_row.h"
#include "pouncectl/report.h"

namespace pounce::ctl {
namespace {

using nlohmann::json;

bool is_meant(const json& lease, const std::vector<std::string>& beginnings) {
  const std::string id = lease.value("lease", "");
  return beginnings.empty() ||
         std::ranges::any_of(beginnings, [&](const std::string& one) { return id.starts_with(one); });
}

// One shape for those that live and those that ended; null where nothing is known yet.
json report_of(const json& lease) {
  const bool ended = !lease.contains("used");
  const json& used = ended ? lease : lease["used"];
  if (used.is_null()) return nullptr;
  json one = {{"lease", lease.value("lease", "")}, {"job", lease.value("job", 0u)}, {"ended", ended}};
  for (const char* name : {"class", "gpus", "gpu_type", "cpus", "memory_mib", "time_min", "workers"})
    one["asked"][name] = lease.value(name, json());
  if (one["asked"]["class"] == "") one["asked"]["class"] = lease.value("class_name", "");  // none was named: the one that it got
  for (const char* name : {"busy_ms", "idle_ms", "cpu_ms", "memory_peak_mib", "gpu_percent", "gpu_memory_peak_mib", "gpu_memory_mib",
                           "suggestion"}) one[name] = used.value(name, json());
  return one;
}

// "71 %, 3 GiB of 80 GiB"; a dash where no driver tells.
std::string of_gpus(const json& one) {
  const auto memory = [&](const char* name) { return one[name].is_number() ? one[name].get<std::uint64_t>() : 0; };
  std::string words = one["gpu_percent"].is_number() && one["gpu_percent"] >= 0 ? one["gpu_percent"].dump() + " %" : "";
  if (memory("gpu_memory_mib") > 0)
    words += (words.empty() ? "" : ", ") + lease::memory_words(memory("gpu_memory_peak_mib")) + " of " + lease::memory_words(memory("gpu_memory_mib"));
  return words.empty() ? "-" : words;
}

std::string table(const json& reports) {
  std::vector<Cells> cells = {{"LEASE", "CLASS", "JOB", "STATE", "BUSY", "IDLE", "CPU TIME", "MEMORY", "GPU", "SUGGESTION"}};
  for (const json& one : reports) {
    const auto time = [&](const char* name) { return in_words(one.value(name, 0.0) / 1000); };
    cells.push_back({short_id(one.value("lease", "")), one["asked"].value("class", ""), std::to_string(one.value("job", 0u)),
                     one.value("ended", false) ? "ended" : "holds", time("busy_ms"), time("idle_ms"), time("cpu_ms"),
                     lease::memory_words(one.value("memory_peak_mib", std::uint64_t{0})), of_gpus(one), one.value("suggestion", "")});
  }
  return columns(cells);
}

}  // namespace

int use_report(const std::vector<std::string>& leases, bool json_wanted) {
  const auto status = ask_status();
  if (!status) return report(status.error(), json_wanted);
  const json document = json::parse(*status);
  json reports = json::array();
  for (const char* list : {"ended", "leases"})
    for (const json& lease : document.value(list, json::array()))
      if (is_meant(lease, leases))
        if (json one = report_of(lease); !one.is_null()) reports.push_back(std::move(one));
  if (reports.empty() && !leases.empty())
    return report(Error{ErrorCode::kBadRequest, "nothing is known of what such a lease used",
                        "`pouncectl report` shows all of which something is known.", {}}, json_wanted);
  if (json_wanted)
    std::cout << json({{"reports", reports}}).dump(2) << '\n';
  else
    std::cout << (reports.empty() ? "no lease of this daemon has worked yet\n" : table(reports));
  return kOk;
}

}  // namespace pounce::ctl
