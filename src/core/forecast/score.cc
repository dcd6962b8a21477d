#include "core/forecast/score.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace pounce::forecast {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double median_distance(const std::vector<double>& waits, double from) {
  std::vector<double> distances;
  for (const double wait : waits) distances.push_back(std::abs(wait - from));
  return median(distances);
}

// The middle of the shortest stretch that holds half of them.
double best_constant(std::vector<double> waits) {
  if (waits.empty()) return 0;
  std::ranges::sort(waits);
  const std::size_t half = waits.size() / 2;
  double best = median(waits);
  for (std::size_t i = 0; i + half < waits.size(); ++i)
    if (const double middle = (waits[i] + waits[i + half]) / 2;
        median_distance(waits, middle) < median_distance(waits, best))
      best = middle;
  return best;
}

bool holds(const Statement& one) { return one.low_s <= one.started_s && one.started_s <= one.high_s; }

double share_that_holds(const std::vector<Statement>& statements) {
  if (statements.empty()) return 0;
  return static_cast<double>(std::ranges::count_if(statements, holds)) / static_cast<double>(statements.size());
}

std::vector<Statement> first_of_each(const std::vector<Statement>& statements) {
  std::map<std::string, Statement> first;
  for (const Statement& one : statements) {
    const auto [entry, is_new] = first.try_emplace(one.lease, one);
    if (!is_new && one.stated_s < entry->second.stated_s) entry->second = one;
  }
  std::vector<Statement> all;
  for (const auto& [lease, one] : first) all.push_back(one);
  return all;
}

}  // namespace

Score score(const std::vector<Statement>& statements) {
  const std::vector<Statement> firsts = first_of_each(statements);
  std::vector<double> errors, widths, waits;
  for (const Statement& one : firsts) {
    errors.push_back(std::abs(static_cast<double>(one.started_s - one.start_s)));
    widths.push_back(static_cast<double>(one.high_s - one.low_s));
    waits.push_back(static_cast<double>(one.started_s - one.stated_s));
  }
  Score score;
  score.waits = firsts.size(), score.statements = statements.size();
  score.median_error_s = median(errors), score.median_width_s = median(widths), score.median_wait_s = median(waits);
  score.coverage = share_that_holds(firsts), score.coverage_of_all = share_that_holds(statements);
  score.best_constant_s = best_constant(waits);
  score.constant_error_s = median_distance(waits, score.best_constant_s);
  return score;
}

}  // namespace pounce::forecast
