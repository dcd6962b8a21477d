// pouncectl why: what waits, in words, with the limit's numbers, the place in line and the expected start.
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>

#include "pouncectl/columns.h"
#include "pouncectl/commands.h"
#include "pouncectl/daemon_link.h"
#include "pouncectl/lease_row.h"
#include "pouncectl/report.h"

namespace pounce::ctl {
namespace {

using nlohmann::json;

bool waits(const LeaseRow& row) { return row.state == "wanted" || row.state == "submitting" || row.state == "queued"; }

json as_json(const LeaseRow& row) {
  json limit;
  if (!row.limit.what.empty())
    limit = {{"what", row.limit.what}, {"most", row.limit.most}, {"used", row.limit.used}, {"asked", row.limit.asked}};
  return {{"lease", row.id},
          {"class", row.class_name},
          {"state", row.state},
          {"state_s", row.state_s},
          {"job", row.job},
          {"reason", row.reason},
          {"slurm_reason", row.slurm_reason},
          {"ahead", row.ahead < 0 ? json() : json(row.ahead)},
          {"start_s", row.start_s == 0 ? json() : json(row.start_s)},
          {"limit", limit}};
}

std::string table(const std::vector<LeaseRow>& rows) {
  std::vector<Cells> cells = {{"LEASE", "CLASS", "ASKS", "STATE", "FOR", "JOB", "AHEAD", "STARTS", "SLURM SAYS", "WHY"}};
  for (const LeaseRow& row : rows)
    cells.push_back({short_id(row.id), row.class_name, asks(row), row.state, in_words(row.state_s),
                     row.job == 0 ? "" : std::to_string(row.job), row.ahead < 0 ? "" : std::to_string(row.ahead),
                     starts(row, std::time(nullptr)), row.slurm_reason, why(row)});
  return columns(cells);
}

}  // namespace

int explain(const std::vector<std::string>& leases, bool json_wanted) {
  const auto status = ask_status();
  if (!status) return report(status.error(), json_wanted);
  std::vector<LeaseRow> rows = lease_rows(*status);
  if (leases.empty()) {
    std::erase_if(rows, [](const LeaseRow& row) { return !waits(row); });
  } else {
    const auto chosen = named(rows, leases);
    if (!chosen) return report(chosen.error(), json_wanted);
    rows = *chosen;
  }
  json document = {{"leases", json::array()}};
  for (const LeaseRow& row : rows) document["leases"].push_back(as_json(row));
  if (json_wanted)
    std::cout << document.dump(2) << '\n';
  else
    std::cout << (rows.empty() ? "nothing waits\n" : table(rows));
  return kOk;
}

}  // namespace pounce::ctl
