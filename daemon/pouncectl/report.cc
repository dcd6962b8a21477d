// pouncectl report: the use of each lease's resources with a suggestion, including leases that ended lately.

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "messages/sentence.h"
#include "model/json.h"
#include "model/status_document.h"
#include "pouncectl/commands.h"
#include "pouncectl/lease_row.h"
#include "pouncectl/queries.h"

namespace pounce::ctl {
namespace {

// The same row for live and for ended leases.
struct Report {
  std::string lease;
  std::uint32_t job = 0;
  bool ended = false;
  Resources resources;
  model::Used used;

  static constexpr auto fields() {
    return table(field("lease", &Report::lease), field("job", &Report::job), field("ended", &Report::ended),
                 field("asked", &Report::resources), part(&Report::used));
  }
};

std::vector<Report> reports_of(const model::StatusDocument& status) {
  std::vector<Report> reports;
  for (const model::EndedLease& one : status.ended)
    reports.push_back({one.lease, one.job, true, one.resources, one.used});
  for (const model::LeaseRow& one : status.leases)
    if (one.used) reports.push_back({one.lease, one.job, false, one.resources, *one.used});
  return reports;
}

bool is_meant(const Report& one, const std::vector<std::string>& beginnings) {
  return beginnings.empty() ||
         std::ranges::any_of(beginnings, [&](const std::string& begin) { return one.lease.starts_with(begin); });
}

// "71 %, 3 GiB of 80 GiB"; a dash without a driver's report.
std::string of_gpus(const model::JobFigures& figures) {
  std::string words = figures.gpu_percent >= 0 ? std::to_string(figures.gpu_percent) + " %" : "";
  if (figures.gpu_memory_total_mib > 0)
    words += (words.empty() ? "" : ", ") + messages::memory_words(figures.gpu_memory_peak_mib) + " of " +
             messages::memory_words(figures.gpu_memory_total_mib);
  return words.empty() ? "-" : words;
}

std::string table_of(const std::vector<Report>& reports) {
  std::vector<Cells> cells = {
      {"LEASE", "CLASS", "JOB", "STATE", "BUSY", "IDLE", "CPU TIME", "MEMORY", "GPU", "SUGGESTION"}};
  const auto time = [](std::int64_t ms) { return in_words(static_cast<double>(ms) / 1000); };
  for (const Report& one : reports) {
    const model::JobFigures& figures = one.used.figures;
    cells.push_back({short_id(one.lease), one.resources.class_name, std::to_string(one.job),
                     one.ended ? "ended" : "holds", time(figures.busy_ms), time(figures.idle_ms), time(figures.cpu_ms),
                     messages::memory_words(figures.memory_peak_mib), of_gpus(figures), one.used.suggestion});
  }
  return columns(cells);
}

}  // namespace

int use_report(const std::vector<std::string>& leases, bool json_wanted) {
  const auto status = ask_status();
  if (!status) return report(status.error(), json_wanted);
  auto reports = reports_of(model::parse<model::StatusDocument>(*status).value_or(model::StatusDocument{}));
  std::erase_if(reports, [&](const Report& one) { return !is_meant(one, leases); });
  if (reports.empty() && !leases.empty())
    return report(Error{ErrorCode::kBadRequest,
                        "nothing is known of what such a lease used",
                        "`pouncectl report` shows all of which something is known.",
                        {}},
                  json_wanted);
  if (json_wanted)
    print_json({{"reports", model::to_json(reports)}});
  else
    std::cout << (reports.empty() ? "no lease of this daemon has worked yet\n" : table_of(reports));
  return kOk;
}

}  // namespace pounce::ctl
