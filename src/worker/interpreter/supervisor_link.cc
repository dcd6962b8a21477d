#include "worker/interpreter/supervisor_link.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace pounce::worker {
namespace {

constexpr std::chrono::milliseconds kReportPause{100}, kReportBeat{1000};  // least and most time between two reports

}  // namespace

void SupervisorLink::add_to(transport::PollSet& polled) const {
  if (socket_.open()) polled.add_fd(socket_.fd(), socket_.unsent());
}

void SupervisorLink::receive() {
  socket_.flush();
  socket_.fill();
}

void SupervisorLink::on(const protocol::YieldSteps&) { yield_asked_ = state_ == NamespaceState::kStepping; }

void SupervisorLink::tell_running(std::uint32_t tasks) {
  running_ = tasks;
  activity_changed_ = true;
}

void SupervisorLink::tell_staying() {
  stays_ = activity_changed_ = true;
  reported_at_ = {};
}

void SupervisorLink::tell_held() {
  held_ = true;
  activity_changed_ = true;
}

void SupervisorLink::tell_loading(std::string module) {
  loading_ = std::move(module);
  activity_changed_ = true;
}

void SupervisorLink::tell_reported(model::Reported reported) {
  reported_ = std::move(reported);
  activity_changed_ = true;
}

bool SupervisorLink::tell_state(NamespaceState state) {
  if (std::exchange(state_, state) == state) return false;
  yield_asked_ = false;
  activity_changed_ = true;
  reported_at_ = {};
  return true;
}

bool SupervisorLink::report_due(TimePoint now, bool watched) const { return now >= next_report(watched); }

TimePoint SupervisorLink::next_report(bool watched) const {
  if (!open()) return TimePoint::max();
  if (activity_changed_) return reported_at_ + kReportPause;
  return watched ? reported_at_ + kReportBeat : TimePoint::max();
}

void SupervisorLink::report(TimePoint now, std::uint32_t more_activity, std::optional<TimePoint> last_seen) {
  std::int64_t seen_ms_ago = -1;
  if (last_seen) seen_ms_ago = std::chrono::duration_cast<std::chrono::milliseconds>(now - *last_seen).count();
  socket_.send(protocol::Activity{running_ + more_activity, seen_ms_ago, state_, std::exchange(stays_, false), loading_,
                                  held_, reported_});
  activity_changed_ = false;
  reported_at_ = now;
}

}  // namespace pounce::worker
