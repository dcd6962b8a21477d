// Detached tasks whose worker does not see the results folder. A kernel that sees it, the relay, opens the task's own
// session, sends the call to the worker and writes the outcome into the folder. Without a relay the worker keeps the
// outcome for `result_hold_s` (docs/protocol.md §10).
#include "base/log.h"
#include "messages/sentence.h"
#include "pounced/detached/detached_tasks.h"

namespace pounce::daemon {
namespace {

std::chrono::seconds whole(std::chrono::milliseconds time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time);
}

}  // namespace

bool DetachedTasks::relays(const SessionId& session) const {
  const auto found = live_.find(session);
  return found != live_.end() && found->second.record.row.relayed;
}

void DetachedTasks::relay(Live& live, const Error& why) {
  protocol::DetachedRow& row = live.record.row;
  spdlog::info("detached task {} is relayed: {}", row.name, messages::text(why));
  row.relayed = true;
  row.cause = {.code = CauseCode::kRelayed, .time = whole(setup_.keep_outcome), .node = row.node};
  live.last_use = Clock::now();
  save(live.record);
  publish(row);
}

// Admits one relay at a time; another may take over once it has been silent.
void DetachedTasks::hear(Peer& client, const protocol::RelayDetached& message) {
  Live* live = find(message.name);
  if (live == nullptr || !live->record.row.relayed)
    return answer(client, message.question, {},
                  {ErrorCode::kNoSuchName, message.name + " is not relayed any more", {}, {}});
  if (!message.digest.empty() || !message.error.empty()) {
    protocol::DetachedRow end;
    end.ok = message.ok;
    end.error = message.error;
    if (is_digest(message.digest)) end.digest = message.digest;
    const protocol::DetachedRow row = live->record.row;
    finish(*live, end);
    return answer(client, message.question, {row});
  }
  if (relay_last_seen(*live) + setup_.relay_silence > Clock::now())
    return answer(client, message.question, {},
                  {ErrorCode::kNameTaken, "another notebook fetches " + message.name, {}, {}});
  live->relay_claimed = Clock::now();
  answer(client, message.question, {live->record.row});
}

void DetachedTasks::hear(Peer& relay, const protocol::OpenSession&) {
  if (!relays(relay.session))
    control_.send(relay,
                  protocol::Refused{Error{ErrorCode::kNoSuchName, "this session's task is not relayed", {}, {}}});
}

// The lease keeps its resources whatever the relay demands. SessionOpened follows, because only now can the relay use
// a grant.
void DetachedTasks::hear(Peer& relay, const protocol::Demand& message) {
  const Live* live = find(relay.session);
  if (!live->record.row.relayed) return;  // the relay has not heard that yet
  Request request{kRequest, live->record.resources, 0, 0, {}};
  for (const Request& said : message.requests) {
    request.waiting += said.waiting;
    request.running += said.running;
    request.holds.insert(request.holds.end(), said.holds.begin(), said.holds.end());
  }
  driver_.tell(lease::DemandChanged{relay.session, {request}});
  driver_.tell(lease::SessionOpened{relay.session, true});
}

void DetachedTasks::hear(const lease::WorkerSeen& beat) {
  if (beat.running == 0) return;
  for (auto& [session, live] : live_)
    if (live.record.row.lease == beat.lease) live.last_use = Clock::now();
}

TimePoint DetachedTasks::relay_last_seen(const Live& live) {
  const Peer* relay = state_.peers.client(session_of(live.record.row.task));
  return std::max(live.relay_claimed, relay == nullptr ? TimePoint{} : relay->last_seen);
}

void DetachedTasks::end_unfetched_tasks() {
  std::vector<SessionId> unfetched;
  for (const auto& [session, live] : live_)
    if (live.record.row.relayed && std::max(live.last_use, relay_last_seen(live)) + setup_.keep_outcome < Clock::now())
      unfetched.push_back(session);
  for (const SessionId& session : unfetched) {
    Live& live = *find(session);
    fail(live,
         error_of(ErrorCode::kResultGone,
                  {.code = CauseCode::kNotFetched, .time = whole(setup_.keep_outcome), .word = live.record.row.name}));
  }
}

}  // namespace pounce::daemon
