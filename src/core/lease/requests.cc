#include "core/lease/requests.h"

#include <algorithm>

namespace pounce::lease {

void Requests::fail(const Owner& owner, RequestState& record, const Error& error) {
  record.failed = error;
  record.failed_waiting = record.request.waiting;
  record.failed_running = record.request.running;
  record.bad_starts = 0;
  context_.act(TellRequestFailed{owner.session, owner.request, error});
}

void Requests::fail(const Lease& lease, const Error& error) {
  if (RequestState* record = context_.sessions.request_of(lease)) fail(*lease.owner, *record, with_evidence(lease, error));
}

void Requests::hold_off(RequestState& record, const Error& error) {
  const Duration least = context_.times.poll_min, most = context_.times.poll_max;
  record.backoff = std::clamp<Duration>(record.backoff * 2, least, most);
  record.not_before = context_.now() + record.backoff;
  record.on_purpose = false;
  record.wait_reason = {.code = CauseCode::kRetrySoon, .because = {cause_of(error)}};
}

void Requests::no_replacement(RequestState& record, CauseCode why) {
  record.not_before = context_.now() + context_.times.no_replacement;
  record.on_purpose = true;
  record.wait_reason = {why};
}

void Requests::count_bad_start(const Lease& lease, const Error& why, bool give_up) {
  if (lease.was_whole()) return;
  RequestState* record = context_.sessions.request_of(lease);
  if (record == nullptr) return;
  if (++record->bad_starts < context_.times.crash_limit && !give_up) return hold_off(*record, why);
  fail(lease, why);
}

}  // namespace pounce::lease
