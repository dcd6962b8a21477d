// pouncectl eta-score: how good the start estimates were. Reads a file of the state folder, so it needs no daemon.
#include <cmath>
#include <iostream>
#include <sstream>

#include "base/bounded_file.h"
#include "core/forecast/score.h"
#include "model/json.h"
#include "model/start_statement.h"
#include "pouncectl/commands.h"
#include "pouncectl/error_report.h"
#include "pouncectl/lease_row.h"
#include "pouncectl/output.h"
#include "pouncectl/state_folder.h"

namespace pounce::ctl {
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
    statements.push_back({one->lease, one->stated_s, one->eta.start_s, one->eta.low_s, one->eta.high_s, one->started_s});
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
         "median error      " + time(score.median_error_s) + "\n" +
         "in the interval   " + percent(score.coverage) + " (80 % is what it says)\n" +
         "median interval   " + time(score.median_width_s) + "\n" +
         "median wait       " + time(score.median_wait_s) + "\n" +
         "best constant     " + time(score.best_constant_s) + ", chosen afterwards: its median error is " + time(score.constant_error_s) + "\n";
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
