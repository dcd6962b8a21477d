#include "pounced/leases/wait_log.h"

#include "base/log.h"
#include "model/json.h"
#include "model/start_statement.h"
#include "pounced/storage/line_file.h"

namespace pounce::daemon {
namespace {

constexpr std::size_t kMostOfOneWait = 16;
constexpr std::int64_t kBetween_s = 30;
constexpr std::uintmax_t kLogBytes = 512 * 1024;

}  // namespace

void WaitLog::hear(const lease::Action& action, std::int64_t now_s) {
  if (const auto* status = std::get_if<lease::TellStatus>(&action)) state(*status, now_s);
  // A lease that ends before it starts has no real start to compare with.
  if (const auto* ended = std::get_if<lease::TellLeaseEnded>(&action)) predictions_.erase(ended->lease);
}

void WaitLog::state(const lease::TellStatus& status, std::int64_t now_s) {
  switch (status.state) {
    case lease::LeaseState::kQueued: {
      if (!status.waiting.eta.known()) return;
      auto& predictions = predictions_[status.lease];
      const bool soon = !predictions.empty() && now_s - predictions.back().stated_s < kBetween_s;
      if (!soon && predictions.size() < kMostOfOneWait) predictions.push_back({now_s, status.waiting.eta});
      return;
    }
    case lease::LeaseState::kStarting:
    case lease::LeaseState::kIdle:
    case lease::LeaseState::kBusy:
      return write(status.lease, status, now_s);
    default:
      return;
  }
}

void WaitLog::write(const LeaseId& lease, const lease::TellStatus& status, std::int64_t started_s) {
  const auto found = predictions_.find(lease);
  if (found == predictions_.end()) return;
  std::string lines;
  for (const Prediction& prediction : found->second)
    lines += model::to_text(model::StartStatement{lease.hex(), status.waiting.class_name, prediction.stated_s, prediction.eta, started_s}) + '\n';
  predictions_.erase(found);
  if (!append_lines(path_, lines, kLogBytes)) spdlog::warn("{} cannot be written", path_);
}

}  // namespace pounce::daemon
