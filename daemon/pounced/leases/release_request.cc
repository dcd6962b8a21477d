#include "pounced/leases/release_request.h"

#include "base/log.h"

namespace pounce::daemon {
namespace {

using protocol::ReleaseHow;

protocol::ReleaseRow row_of(const LeaseId& lease, const std::vector<lease::LeaseView>& views) {
  for (const lease::LeaseView& view : views)
    if (view.lease == lease) return {lease, std::string(word(view.state)), view.waiting, view.running};
  return {lease, std::string(word(lease::LeaseState::kEnded)), 0, 0};
}

}  // namespace

lease::ReleaseAsked release_asked(const LeaseId& lease, const protocol::ReleaseAsk& message) {
  const bool cancel = message.how == ReleaseHow::kCancel;
  const std::string by = message.by.empty() ? "a client" : message.by;
  Error why = error_of(cancel ? ErrorCode::kJobCancelled : ErrorCode::kLeaseEnded,
                       {.code = cancel ? CauseCode::kCancelled : CauseCode::kReleased, .word = by});
  why.remedy = "Submit again; a user ended it.";
  spdlog::info("lease={} release asked by {}", lease.hex(), by);
  return {lease, message.how != ReleaseHow::kWhenIdle, std::move(why)};
}

protocol::ReleaseIs release_rows(const protocol::ReleaseAsk& message, const lease::LeaseCore& core) {
  protocol::ReleaseIs answer{message.question, {}};
  const auto views = core.leases();
  for (const LeaseId& lease : message.leases) answer.rows.push_back(row_of(lease, views));
  return answer;
}

}  // namespace pounce::daemon
