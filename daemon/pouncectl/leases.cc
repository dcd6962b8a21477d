// pouncectl leases: this daemon's leases in a table.
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "pouncectl/columns.h"
#include "pouncectl/commands.h"
#include "pouncectl/daemon_link.h"
#include "pouncectl/lease_row.h"
#include "pouncectl/report.h"

namespace pounce::ctl {
namespace {

using nlohmann::json;

// The document's own leases, each with its notebook beside it.
json as_json(const json& status) {
  std::map<std::string, json> sessions;
  for (const json& session : status.value("sessions", json::array())) sessions[session.value("session", "")] = session;
  json document = {{"leases", json::array()}};
  for (json lease : status.value("leases", json::array())) {
    lease.erase("story");
    lease["idle_s"] = lease.value("state", "") == "idle" ? lease["state_s"] : json();
    for (const char* fact : {"pid", "host", "directory"}) {
      const auto session = sessions.find(lease.value("session", ""));
      lease[fact] = session != sessions.end() ? session->second[fact] : json();
    }
    document["leases"].push_back(std::move(lease));
  }
  return document;
}

std::string table(const std::vector<LeaseRow>& rows) {
  std::vector<Cells> cells = {
      {"LEASE", "CLASS", "ASKS", "STATE", "FOR", "AGE", "JOB", "NODE", "DEVICES", "TASKS", "NOTEBOOK", "WHY"}};
  for (const LeaseRow& row : rows)
    cells.push_back({short_id(row.id), row.class_name, asks(row), row.state, in_words(row.state_s), in_words(row.age_s),
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
    std::cout << as_json(json::parse(*status)).dump(2) << '\n';
  else
    std::cout << (rows.empty() ? "no leases: nothing waits and nothing is held\n" : table(rows));
  return kOk;
}

}  // namespace pounce::ctl
