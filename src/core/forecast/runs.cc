#include "core/forecast/runs.h"

#include <algorithm>

namespace pounce::forecast {
namespace {

// Most people ask for far more time than they need.
const std::vector<double> kUnknown = {0.02, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.0};

double share_of(const Run& run) {
  return std::clamp(static_cast<double>(run.ran_s) / static_cast<double>(run.limit_s), 0.0, 1.0);
}

bool is_of(const Run& run, const Kind& kind) {
  return (kind.user.empty() || run.user == kind.user) && (kind.class_name.empty() || run.class_name == kind.class_name) &&
         (kind.limit_s == 0 || run.limit_s == kind.limit_s);
}

}  // namespace

bool Runs::add(const Run& run) {
  if (run.limit_s <= 0 || run.ran_s < 0 || !known_.emplace(run.job, run.submit_s).second) return false;
  all_.push_back(run);
  if (all_.size() > kKept) {
    known_.erase({all_.front().job, all_.front().submit_s});
    all_.pop_front();
  }
  shares_.clear();
  return true;
}

std::vector<double> Runs::newest(const Kind& kind) const {
  std::vector<double> shares;
  for (auto run = all_.rbegin(); run != all_.rend() && shares.size() < kNewest; ++run)
    if (is_of(*run, kind)) shares.push_back(share_of(*run));
  std::ranges::sort(shares);
  return shares;
}

const std::vector<double>& Runs::shares(const Kind& kind) const {
  for (const Kind& wider : {kind, Kind{kind.user, kind.class_name}, Kind{"", kind.class_name, kind.limit_s},
                            Kind{"", kind.class_name}, Kind{}}) {
    const auto found = shares_.find(wider);
    const auto& shares = found != shares_.end() ? found->second : shares_.emplace(wider, newest(wider)).first->second;
    if (shares.size() >= kEnough) return shares;
  }
  return kUnknown;
}

std::size_t Runs::seen(const Kind& kind) const {
  const auto& shares = this->shares(kind);
  return &shares == &kUnknown ? 0 : shares.size();
}

}  // namespace pounce::forecast
