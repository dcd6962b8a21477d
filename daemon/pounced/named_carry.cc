// Named tasks whose worker does not see the results folder: a kernel that does, the courier, opens the task's own session,
// sends the call to the worker and brings the outcome into the folder. While there is no courier the worker keeps the
// outcome, for `result_hold_s` (docs/protocol.md §10).
#include "base/log.h"
#include "pounced/named_tasks.h"

namespace pounce::daemon {
namespace {

std::string words(std::chrono::milliseconds time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time).count();
  return seconds % 60 == 0 ? std::to_string(seconds / 60) + " min" : std::to_string(seconds) + " s";
}

}  // namespace

bool NamedTasks::carries(const SessionId& session) const {
  const auto found = live_.find(session);
  return found != live_.end() && found->second.record.row.carried;
}

void NamedTasks::carry(Live& live, const Error& why) {
  protocol::NamedRow& row = live.record.row;
  spdlog::info("named task {} is carried: {}", row.name, why.text);
  row.carried = true;
  row.reason = "the worker on " + row.node + " does not see the results folder: what it returns stays there for " +
               words(setup_.hold) + " after its end, for a notebook that fetches it";
  live.last_use = Clock::now();
  save(live.record);
  publish(row);
}

// One courier at a time: the next one may come when this one has been silent.
void NamedTasks::hear(Guest& client, const protocol::NameCarry& message) {
  Live* live = find(message.name);
  if (live == nullptr || !live->record.row.carried)
    return answer(client, message.request, {}, {ErrorCode::kNoSuchName, message.name + " is not carried any more", {}, {}});
  if (!message.digest.empty() || !message.error.text.empty()) {
    protocol::NamedRow end;
    end.ok = message.ok;
    end.error = message.error;
    if (is_digest(message.digest)) end.digest = message.digest;
    const protocol::NamedRow row = live->record.row;
    finish(*live, end);
    return answer(client, message.request, {row});
  }
  if (courier_heard(*live) + setup_.courier_silence > Clock::now())
    return answer(client, message.request, {}, {ErrorCode::kNameTaken, "another notebook fetches " + message.name, {}, {}});
  live->courier_claimed = Clock::now();
  answer(client, message.request, {live->record.row});
}

void NamedTasks::hear(Guest& courier, const protocol::OpenSession&) {
  if (!carries(courier.session))
    hall_.send(courier, protocol::Refused{Error{ErrorCode::kNoSuchName, "this session's task is not carried", {}, {}}});
}

// The lease stays what it is, whatever a courier says of resources. Only now does it know what to do with a grant.
void NamedTasks::hear(Guest& courier, const protocol::Demand& message) {
  const Live* live = find(courier.session);
  if (!live->record.row.carried) return;  // it has not heard that yet
  lease::Want want{kWant, live->record.resources, 0, 0, {}};
  for (const protocol::Want& said : message.wants) {
    want.waiting += said.waiting;
    want.running += said.running;
    want.holds.insert(want.holds.end(), said.holds.begin(), said.holds.end());
  }
  driver_.tell(lease::DemandChanged{courier.session, {want}});
  driver_.tell(lease::SessionOpened{courier.session, true});
}

void NamedTasks::hear(const lease::WorkerHeard& beat) {
  if (beat.running == 0) return;
  for (auto& [session, live] : live_)
    if (live.record.row.lease == beat.lease) live.last_use = Clock::now();
}

TimePoint NamedTasks::courier_heard(const Live& live) {
  const Guest* courier = books_.guests.client(session_of(live.record.row.task));
  return std::max(live.courier_claimed, courier == nullptr ? TimePoint{} : courier->heard);
}

void NamedTasks::end_what_nobody_fetched() {
  std::vector<SessionId> left;
  for (const auto& [session, live] : live_)
    if (live.record.row.carried && std::max(live.last_use, courier_heard(live)) + setup_.hold < Clock::now())
      left.push_back(session);
  for (const SessionId& session : left) {
    Live& live = *find(session);
    fail(live, {ErrorCode::kResultGone, "nobody fetched what " + live.record.row.name + " returned, within " + words(setup_.hold) +
                                            " of its end on a worker that does not see the results folder", {}, {}});
  }
}

}  // namespace pounce::daemon
