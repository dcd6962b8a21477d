// pouncectl why: why leases wait, with the limit's numbers, the place in line and the expected start.
#include <chrono>
#include <ctime>
#include <iostream>

#include "base/printable.h"
#include "core/lease/state.h"
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

constexpr int kMostQueries = 5;  // each queries Slurm twice

// Alternatives to the request; empty if Slurm does not tell its classes.
std::vector<Choice> choices_of(const LeaseRow& row) {
  const auto daemon = find_daemon();
  if (!daemon) return {};
  const auto answer = ask(*daemon, protocol::ClassesAsk{1, true, row.resources, row.wait.limit, row.wait.eta}, std::chrono::seconds(40));
  const auto* classes = answer ? std::get_if<protocol::ClassesIs>(&*answer) : nullptr;
  return classes != nullptr && classes->error.empty() ? classes->choices : std::vector<Choice>{};
}

json as_json(const Eta& eta) { return eta.known() ? model::to_json(eta) : json(); }

json as_json(const Choice& choice) {
  return {{"kind", choice.kind}, {"or", choice.option}, {"now", choice.now}, {"eta", as_json(choice.eta)}, {"against", choice.against}};
}

json as_json(const LeaseRow& row, const std::vector<Choice>& choices) {
  json listed = json::array();
  for (const Choice& choice : choices) listed.push_back(as_json(choice));
  return {{"lease", row.lease},
          {"class", row.resources.class_name},
          {"state", row.state},
          {"state_s", row.state_s},
          {"job", row.job},
          {"reason", row.reason},
          {"slurm_reason", row.wait.slurm_reason},
          {"ahead", row.wait.ahead < 0 ? json() : json(row.wait.ahead)},
          {"start_s", row.wait.start_estimate_s == 0 ? json() : json(row.wait.start_estimate_s)},
          {"eta", as_json(row.wait.eta)},
          {"limit", row.wait.limit.what.empty() ? json() : model::to_json(row.wait.limit)},
          {"choices", listed}};
}

std::string instead_of(const Choice& choice) {
  if (choice.kind == "cpu") return "without a GPU";
  return choice.kind == "class" ? "in class " + choice.resources.class_name : "with GPU " + choice.option;
}

// One line per alternative.
std::string lines_of(const LeaseRow& row, const std::vector<Choice>& choices) {
  std::string lines;
  if (row.wait.eta.known()) lines += printable(short_id(row.lease) + "  its start is estimated from " + row.wait.eta.basis) + "\n";
  for (const Choice& choice : choices) {
    if (choice.kind == "wait" || choice.kind == "cancel") continue;
    const std::string start = choice.eta.known() ? when(choice.eta, std::time(nullptr)) : "when cannot be said";
    lines += printable(short_id(row.lease) + "  " + instead_of(choice) + ": " + (!choice.against.empty() ? choice.against : choice.now ? "free now" : start)) + "\n";
  }
  return lines;
}

std::string table(const std::vector<LeaseRow>& rows) {
  std::vector<Cells> cells = {{"LEASE", "CLASS", "ASKS", "STATE", "FOR", "JOB", "AHEAD", "STARTS", "SLURM SAYS", "WHY"}};
  for (const LeaseRow& row : rows)
    cells.push_back({short_id(row.lease), row.resources.class_name, asks(row.resources), row.state, in_words(row.state_s),
                     row.job == 0 ? "" : std::to_string(row.job), row.wait.ahead < 0 ? "" : std::to_string(row.wait.ahead),
                     starts(row, std::time(nullptr)), row.wait.slurm_reason, why(row)});
  return columns(cells);
}

}  // namespace

int explain(const std::vector<std::string>& leases, bool json_wanted) {
  const auto status = ask_status();
  if (!status) return report(status.error(), json_wanted);
  std::vector<LeaseRow> rows = lease_rows(*status);
  int queries = 0;
  if (leases.empty()) {
    std::erase_if(rows, [](const LeaseRow& row) { return !lease::no_job_runs_yet(row.state); });
  } else {
    const auto chosen = named(rows, leases);
    if (!chosen) return report(chosen.error(), json_wanted);
    rows = *chosen;
  }
  json document = {{"leases", json::array()}};
  std::string choices;
  for (const LeaseRow& row : rows) {
    const auto others = row.state == "queued" && queries < kMostQueries ? choices_of(row) : std::vector<Choice>{};
    if (row.state == "queued") ++queries;
    document["leases"].push_back(as_json(row, others));
    choices += lines_of(row, others);
  }
  if (json_wanted)
    print_json(document);
  else
    std::cout << (rows.empty() ? "nothing waits\n" : table(rows) + (choices.empty() ? "" : "\n" + choices));
  return kOk;
}

}  // namespace pounce::ctl
