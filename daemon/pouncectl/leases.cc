// pouncectl leases: a table of this daemon's leases.
#include <iostream>

#include "model/json.h"
#include "pouncectl/columns.h"
#include "pouncectl/commands.h"
#include "pouncectl/daemon_query.h"
#include "pouncectl/error_report.h"
#include "pouncectl/lease_row.h"
#include "pouncectl/output.h"

namespace pounce::ctl {
namespace {

using nlohmann::json;

// The document's leases, each with its notebook.
json as_json(const std::vector<LeaseRow>& rows) {
  json document = {{"leases", json::array()}};
  for (const LeaseRow& row : rows) {
    json lease = model::to_json<model::LeaseRow>(row);
    lease.erase("history");
    lease["idle_s"] = row.state == "idle" ? json(row.state_s) : json();
    lease["pid"] = row.pid == 0 ? json() : json(row.pid);
    lease["host"] = row.pid == 0 ? json() : json(row.host);
    lease["directory"] = row.pid == 0 ? json() : json(row.directory);
    document["leases"].push_back(std::move(lease));
  }
  return document;
}

std::string table(const std::vector<LeaseRow>& rows) {
  std::vector<Cells> cells = {
      {"LEASE", "CLASS", "ASKS", "STATE", "FOR", "AGE", "JOB", "NODE", "DEVICES", "TASKS", "NOTEBOOK", "WHY"}};
  for (const LeaseRow& row : rows)
    cells.push_back({short_id(row.lease), row.resources.class_name, asks(row.resources), row.state, in_words(row.state_s), in_words(row.age_s),
                     row.job == 0 ? "" : std::to_string(row.job), row.node, row.devices, tasks_of(row),
                     notebook_of(row), why(row)});
  return columns(cells);
}

}  // namespace

int leases(bool json_wanted) {
  const auto status = ask_status();
  if (!status) return report(status.error(), json_wanted);
  const auto rows = lease_rows(*status);
  if (json_wanted)
    print_json(as_json(rows));
  else
    std::cout << (rows.empty() ? "no leases: nothing waits and nothing is held\n" : table(rows));
  return kOk;
}

}  // namespace pounce::ctl
