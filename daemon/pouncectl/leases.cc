// pouncectl leases, release and cancel: this daemon's leases in a table; giving them back, when idle or now.

#include <iostream>
#include <nlohmann/json.hpp>

#include "model/json.h"
#include "pouncectl/commands.h"
#include "pouncectl/lease_row.h"
#include "pouncectl/output.h"
#include "pouncectl/queries.h"

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

std::string table_of_leases(const std::vector<LeaseRow>& rows) {
  std::vector<Cells> cells = {
      {"LEASE", "CLASS", "ASKS", "STATE", "FOR", "AGE", "JOB", "NODE", "DEVICES", "TASKS", "NOTEBOOK", "WHY"}};
  for (const LeaseRow& row : rows)
    cells.push_back({short_id(row.lease), row.resources.class_name, asks(row.resources), row.state,
                     in_words(row.state_s), in_words(row.age_s), row.job == 0 ? "" : std::to_string(row.job), row.node,
                     row.devices, tasks_of(row), notebook_of(row), why(row)});
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
    std::cout << (rows.empty() ? "no leases: nothing waits and nothing is held\n" : table_of_leases(rows));
  return kOk;
}

// pouncectl release and cancel send one and the same request to the daemon.

namespace {

using protocol::ReleaseHow;

Result<std::vector<LeaseRow>> chosen(const ReleaseOptions& options, const std::vector<LeaseRow>& rows) {
  if (options.all) return rows;
  if (!options.session.empty()) return of_session(rows, options.session);
  return named(rows, options.leases);
}

Result<protocol::ReleaseIs> ask_release(const std::vector<LeaseRow>& rows, ReleaseHow how, const std::string& by) {
  const auto daemon = find_daemon();
  if (!daemon) return failure(daemon.error());
  protocol::ReleaseAsk question{1, {}, how, by};
  for (const LeaseRow& row : rows)
    if (const auto id = LeaseId::from_hex(row.lease)) question.leases.push_back(*id);
  const auto answer = ask(*daemon, question);
  if (!answer) return failure(answer.error());
  if (const auto* refused = std::get_if<protocol::Refused>(&*answer)) return failure(refused->error);
  if (const auto* done = std::get_if<protocol::ReleaseIs>(&*answer);
      done != nullptr && done->rows.size() == rows.size())
    return *done;
  return failure(ErrorCode::kProtocol, "pounced answered something else");
}

void print(const std::vector<LeaseRow>& before, const protocol::ReleaseIs& after, ReleaseHow how, bool json) {
  nlohmann::json document = {{"leases", nlohmann::json::array()}};
  for (std::size_t i = 0; i < before.size(); ++i) {
    const std::string words = release_words(before[i], after.rows[i], how);
    document["leases"].push_back({{"lease", before[i].lease}, {"state", after.rows[i].state}, {"what", words}});
    if (!json) print_line(short_id(before[i].lease) + "  " + words);
  }
  if (json) print_json(document);
  if (!json && before.empty()) std::cout << "no leases: there is nothing to give back\n";
}

int release_how(const ReleaseOptions& options, ReleaseHow how, const std::string& by, bool json) {
  const auto status = ask_status();
  if (!status) return report(status.error(), json);
  const auto rows = chosen(options, lease_rows(*status));
  if (!rows) return report(rows.error(), json);
  const auto answer = ask_release(*rows, how, by);
  if (!answer) return report(answer.error(), json);
  print(*rows, *answer, how, json);
  return kOk;
}

}  // namespace

int release(const ReleaseOptions& options, bool json) {
  if (options.now) return release_how(options, ReleaseHow::kNow, "pouncectl release --now", json);
  return release_how(options, ReleaseHow::kWhenIdle, "pouncectl release", json);
}

int cancel(const ReleaseOptions& options, bool json) {
  return release_how(options, ReleaseHow::kCancel, "pouncectl cancel", json);
}

}  // namespace pounce::ctl
