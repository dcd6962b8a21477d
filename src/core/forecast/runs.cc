#include "core/forecast/runs.h"

#include <algorithm>

namespace pounce::forecast {
namespace {

// Most people ask for far more time than they need.
const std::vector<double> kUnknown = {0.02, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.0};

double share_of(const Run& run) {
  return std::clamp(static_cast<double>(run.ran_s) / static_cast<double>(run.limit_s), 0.0, 1.0);
}

void insert(std::vector<double>& sorted, double share) { sorted.insert(std::ranges::upper_bound(sorted, share), share); }

void erase(std::vector<double>& sorted, double share) {
  const auto found = std::ranges::lower_bound(sorted, share);
  if (found != sorted.end() && *found == share) sorted.erase(found);
}

}  // namespace

bool Runs::add(const Run& run) {
  if (run.limit_s <= 0 || run.ran_s < 0 || !known_.insert(run.job).second) return false;
  all_.push_back(run);
  for (const Kind& kind : {Kind{run.person, run.class_name}, Kind{"", run.class_name}, Kind{"", ""}})
    insert(shares_[kind], share_of(run));
  if (all_.size() > kKept) forget_oldest();
  return true;
}

void Runs::forget_oldest() {
  const Run oldest = all_.front();
  all_.pop_front();
  known_.erase(oldest.job);
  for (const Kind& kind : {Kind{oldest.person, oldest.class_name}, Kind{"", oldest.class_name}, Kind{"", ""}})
    erase(shares_[kind], share_of(oldest));
}

const std::vector<double>& Runs::shares(const std::string& person, const std::string& class_name) const {
  for (const Kind& kind : {Kind{person, class_name}, Kind{"", class_name}, Kind{"", ""}}) {
    const auto found = shares_.find(kind);
    if (found != shares_.end() && found->second.size() >= kEnough) return found->second;
  }
  return kUnknown;
}

std::size_t Runs::seen(const std::string& class_name) const {
  const auto found = shares_.find(Kind{"", class_name});
  if (found != shares_.end() && found->second.size() >= kEnough) return found->second.size();
  return all_.size() >= kEnough ? all_.size() : 0;
}

}  // namespace pounce::forecast
