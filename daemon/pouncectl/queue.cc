// What waits: pouncectl queue (Slurm's view), why (pounce's view) and eta-score (how good the forecasts were).

#include <chrono>
#include <cmath>
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file_io.h"
#include "base/text.h"
#include "core/forecast/score.h"
#include "core/lease/state.h"
#include "model/job.h"
#include "model/json.h"
#include "pouncectl/commands.h"
#include "pouncectl/lease_row.h"
#include "pouncectl/output.h"
#include "pouncectl/queries.h"

namespace pounce::ctl {

// pouncectl queue: this user's jobs of pounce as Slurm shows them now.

namespace {

nlohmann::json as_json(const protocol::QueueRow& row) {
  return {{"job", row.job},
          {"name", row.name},
          {"class", row.class_name},
          {"state", row.state},
          {"reason", row.reason},
          {"why", row.why},
          {"node", row.node},
          {"devices", row.devices},
          {"lease", row.lease},
          {"submit_time_s", row.submit_time_s},
          {"start_time_s", row.start_time_s},
          {"end_time_s", row.end_time_s}};
}

}  // namespace

std::string queue_table(const protocol::QueueIs& queue) {
  if (queue.rows.empty()) return "no jobs of pounce\n";
  std::vector<Cells> rows{{"JOB", "CLASS", "STATE", "NODE", "DEVICES", "REASON"}};
  for (const auto& row : queue.rows)
    rows.push_back({std::to_string(row.job), row.class_name, row.state, row.node, row.devices,
                    row.why.empty() ? row.reason : row.why});
  return columns(rows);
}

int queue(bool json) {
  const auto daemon = find_daemon();
  if (!daemon) return report(daemon.error(), json);
  const auto answer = ask(*daemon, protocol::QueueAsk{1});
  if (!answer) return report(answer.error(), json);
  const auto* queue = std::get_if<protocol::QueueIs>(&*answer);
  if (queue == nullptr) return report(Error{ErrorCode::kProtocol, "pounced answered something else", {}, {}}, json);
  if (!queue->error.empty()) return report(queue->error, json);
  if (!json) {
    std::cout << queue_table(*queue);
    return kOk;
  }
  nlohmann::json document = {{"launcher", queue->launcher}, {"jobs", nlohmann::json::array()}};
  for (const auto& row : queue->rows) document["jobs"].push_back(as_json(row));
  print_json(document);
  return kOk;
}

// pouncectl why: what waits, in words, with the limit's numbers, the place in line and the expected start.

namespace {

using nlohmann::json;

constexpr int kMostQueries = 5;  // each queries Slurm twice

// Alternatives to the request; empty if Slurm does not tell its classes.
std::vector<Choice> choices_of(const LeaseRow& row) {
  const auto daemon = find_daemon();
  if (!daemon) return {};
  const auto answer = ask(*daemon, protocol::ClassesAsk{1, true, row.resources, row.wait.limit, row.wait.eta},
                          std::chrono::seconds(40));
  const auto* classes = answer ? std::get_if<protocol::ClassesIs>(&*answer) : nullptr;
  return classes != nullptr && classes->error.empty() ? classes->choices : std::vector<Choice>{};
}

json as_json(const Eta& eta) { return eta.known() ? model::to_json(eta) : json(); }

json as_json(const Choice& choice) {
  return {{"kind", choice.kind},
          {"or", choice.option},
          {"now", choice.now},
          {"eta", as_json(choice.eta)},
          {"against", choice.against}};
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
  if (row.wait.eta.known())
    lines += printable(short_id(row.lease) + "  its start is estimated from " + row.wait.eta.basis) + "\n";
  for (const Choice& choice : choices) {
    if (choice.kind == "wait" || choice.kind == "cancel") continue;
    const std::string start = choice.eta.known() ? when(choice.eta, std::time(nullptr)) : "when cannot be said";
    lines += printable(short_id(row.lease) + "  " + instead_of(choice) + ": " +
                       (!choice.against.empty() ? choice.against
                        : choice.now            ? "free now"
                                                : start)) +
             "\n";
  }
  return lines;
}

std::string table_of_waiting(const std::vector<LeaseRow>& rows) {
  std::vector<Cells> cells = {
      {"LEASE", "CLASS", "ASKS", "STATE", "FOR", "JOB", "AHEAD", "STARTS", "SLURM SAYS", "WHY"}};
  for (const LeaseRow& row : rows)
    cells.push_back({short_id(row.lease), row.resources.class_name, asks(row.resources), row.state,
                     in_words(row.state_s), row.job == 0 ? "" : std::to_string(row.job),
                     row.wait.ahead < 0 ? "" : std::to_string(row.wait.ahead), starts(row, std::time(nullptr)),
                     row.wait.slurm_reason, why(row)});
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
    std::cout << (rows.empty() ? "nothing waits\n" : table_of_waiting(rows) + (choices.empty() ? "" : "\n" + choices));
  return kOk;
}

// pouncectl eta-score: how good the forecasts of a start were. Reads the state folder's file, so it works without a
// daemon too.

namespace {

using forecast::Score;
using forecast::Statement;
using nlohmann::json;

constexpr std::size_t kScoresBytes = 8 << 20;  // per file; pounced keeps them far smaller

void read_statements(const std::filesystem::path& path, std::vector<Statement>& statements) {
  std::istringstream file(read_end(path, kScoresBytes));
  for (std::string line; std::getline(file, line);) {
    const auto one = model::parse<model::StartStatement>(line);
    if (!one) continue;  // truncated when the disk was full
    statements.push_back(
        {one->lease, one->stated_s, one->eta.start_s, one->eta.low_s, one->eta.high_s, one->started_s});
  }
}

json as_json(const Score& score) {
  return {{"waits", score.waits},
          {"statements", score.statements},
          {"median_error_s", score.median_error_s},
          {"coverage", score.coverage},
          {"coverage_of_all_statements", score.coverage_of_all},
          {"median_width_s", score.median_width_s},
          {"median_wait_s", score.median_wait_s},
          {"best_constant_s", score.best_constant_s},
          {"constant_error_s", score.constant_error_s}};
}

std::string percent(double share) { return std::to_string(std::lround(share * 100)) + " %"; }

std::string score_in_words(const Score& score) {
  const auto time = [](double seconds) { return ctl::in_words(seconds); };
  return "waits             " + std::to_string(score.waits) + ", the first estimate of each counts\n" +
         "median error      " + time(score.median_error_s) + "\n" + "in the interval   " + percent(score.coverage) +
         " (80 % is what it says)\n" + "median interval   " + time(score.median_width_s) + "\n" + "median wait       " +
         time(score.median_wait_s) + "\n" + "best constant     " + time(score.best_constant_s) +
         ", chosen afterwards: its median error is " + time(score.constant_error_s) + "\n";
}

}  // namespace

int eta_score(bool json_wanted) {
  const auto folder = state_folder();
  if (!folder) return report(folder.error(), json_wanted);
  std::vector<Statement> statements;
  for (const char* name : {"waits.jsonl.1", "waits.jsonl"}) read_statements(*folder / name, statements);
  const Score score = forecast::score(statements);
  if (json_wanted)
    print_json(as_json(score));
  else
    std::cout << (score.waits == 0 ? "no wait has been estimated yet\n" : score_in_words(score));
  return kOk;
}

}  // namespace pounce::ctl
