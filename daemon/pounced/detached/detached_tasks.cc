// A detached task's life: submitted, granted a worker, run, lost or ended.
#include "pounced/detached/detached_tasks.h"

#include <algorithm>
#include <ctime>

#include "base/log.h"
#include "messages/sentence.h"
#include "pounced/leases/status_document.h"

namespace pounce::daemon {
namespace {

using namespace std::chrono_literals;
using protocol::DetachedRow;

constexpr auto kLook = 10s;
constexpr std::chrono::hours kUnclaimed{1};

// Compares interpreters' keys. An empty key is unknown: the record is from an earlier version.
bool same_key(const std::string& one, const std::string& other) { return one.empty() || other.empty() || one == other; }

// A user ended the job on purpose: running the task again would undo that.
bool is_an_order(const Error& error) { return error.code == ErrorCode::kJobCancelled; }

// Copies the facts about the wait that a user reads, as in LeaseStatus.
void tell_wait(const lease::TellStatus& order, DetachedRow& row) {
  const bool queued = order.state == lease::LeaseState::kQueued;
  row.class_name = queued ? order.waiting.class_name : "";
  row.wait = queued ? wait_of(order.waiting, order.start_estimate_s) : model::QueueWait{};
}

template <class Action>
SessionId addressee(const Action& action) {
  if constexpr (requires { action.session; })
    return action.session;
  else
    return {};
}

}  // namespace

SessionId DetachedTasks::session_of(const TaskId& task) {
  std::array<std::uint8_t, SessionId::kBytes> bytes;
  std::ranges::copy(task.bytes(), bytes.begin());
  return SessionId(bytes);
}

DetachedTasks::Live* DetachedTasks::find(const SessionId& session) {
  const auto found = live_.find(session);
  return found == live_.end() ? nullptr : &found->second;
}

DetachedTasks::Live* DetachedTasks::find(const std::string& name) {
  for (auto& [session, live] : live_)
    if (live.record.row.name == name) return &live;
  return nullptr;
}

void DetachedTasks::restore() {
  for (protocol::DetachedRecord& record : folder_.records()) {
    if (record.row.state == "done" || !setup_.instances.contains(record.instance)) continue;
    record.instance = setup_.instance;
    spdlog::info("detached task {} goes on", record.row.name);
    const SessionId session = session_of(record.row.task);
    begin(live_.insert_or_assign(session, Live{std::move(record)}).first->second);
  }
  look_after();
}

void DetachedTasks::begin(Live& live) {
  const SessionId session = session_of(live.record.row.task);
  live.last_use = Clock::now();
  state_.clients[session].opened = live.record.opened;
  state_.clients[session].detached = true;
  state_.clients[session].requests[kRequest] = live.record.resources;
  driver_.tell(lease::SessionOpened{session, true});
  if (const Live* still = find(session)) demand(*still);
}

void DetachedTasks::demand(const Live& live) {
  Request request{kRequest, live.record.resources, 1, 0, {}};
  if (live.record.row.state == "running") request = {kRequest, live.record.resources, 0, 1, {live.record.row.lease}};
  driver_.tell(lease::DemandChanged{session_of(live.record.row.task), {request}});
}

bool DetachedTasks::take(const lease::Action& action) {
  return std::visit(
      [this](const auto& order) {
        Live* live = find(addressee(order));
        return live != nullptr && act(*live, order);
      },
      action);
}

bool DetachedTasks::act(Live& live, const lease::AdmitClient& order) {
  if (const Peer* worker = state_.peers.worker(order.link)) live.links[worker->worker] = order.link;
  return !live.record.row.relayed;
}

std::string DetachedTasks::key_of(const lease::GrantWorker& order) const {
  const auto found = state_.interpreters.find({order.lease, order.worker});
  return found == state_.interpreters.end() ? std::string() : found->second.key;
}

// A grant may repeat for the same interpreter, which then answers again if it has ended the task.
bool DetachedTasks::act(Live& live, const lease::GrantWorker& order) {
  live.put_off.reset();
  protocol::DetachedRecord& record = live.record;
  if (record.row.state == "running") {
    // Another of its workers has the task.
    if (record.row.lease == order.lease && record.worker != order.worker) return true;
    if (record.row.lease == order.lease && record.epoch == order.epoch && same_key(record.key, key_of(order))) {
      if (!record.row.relayed) run(live);
      return !record.row.relayed;
    }
    lost(live, error_of(ErrorCode::kLost, CauseCode::kMayHaveRun));
    return true;
  }
  protocol::DetachedRecord granted = record;
  granted.row.state = "running";
  granted.row.cause = {};
  granted.row.lease = order.lease;
  granted.worker = order.worker;
  granted.epoch = order.epoch;
  granted.key = key_of(order);
  // The record is saved before the task can start: otherwise the next pounced would run it a second time. If the
  // folder was removed, the worker has no call to run and reports that.
  if (const auto saved = save(granted); !saved && folder_.has(record.row.name)) {
    put_off(live, order, saved.error().text);
    return true;
  }
  record = std::move(granted);
  publish(record.row);
  run(live);
  demand(live);
  return true;
}

void DetachedTasks::put_off(Live& live, const lease::GrantWorker& order, const std::string& why) {
  live.put_off = order;
  live.record.row.cause = {.code = CauseCode::kNotWritten, .said = why};
  publish(live.record.row);
}

void DetachedTasks::run(Live& live) {
  const DetachedRow& row = live.record.row;
  const WorkerIndex index = live.record.worker;
  Peer* worker = state_.peers.worker(live.links[index]);
  if (worker == nullptr) return;  // the worker comes back and is granted again
  spdlog::info("detached task {} lease={}", row.name, row.lease.hex());
  control_.send(*worker, protocol::RunDetached{row.lease, index, live.record.epoch, session_of(row.task), row.task,
                                               folder_.of(row.name)});
}

bool DetachedTasks::act(Live& live, const lease::TellStatus& order) {
  DetachedRow& row = live.record.row;
  if (row.state == "running" && row.lease != order.lease) return true;
  row.cause = order.why;
  row.lease = order.lease;
  row.job = order.job.value;
  row.node = order.node;
  tell_wait(order, row);
  publish(row);
  return !row.relayed;
}

bool DetachedTasks::act(Live& live, const lease::TellWorkerDown& order) {
  if (live.put_off && live.put_off->lease == order.lease && live.put_off->worker == order.worker) live.put_off.reset();
  const protocol::DetachedRecord& record = live.record;
  if (record.row.state != "running" || record.row.lease != order.lease || record.worker != order.worker ||
      record.epoch != order.epoch)
    return true;
  if (!same_key(record.key, order.ended.key)) return true;
  if (order.ended.may_have_started(record.row.task))
    lost(live, order.error);
  else
    wait_again(live);
  return true;
}

bool DetachedTasks::act(Live& live, const lease::TellLeaseEnded& order) {
  if (live.put_off && live.put_off->lease == order.lease) live.put_off.reset();
  if (live.record.row.state == "running" && live.record.row.lease == order.lease) lost(live, order.error);
  return true;
}

bool DetachedTasks::act(Live& live, const lease::TellRequestFailed& order) {
  fail(live, order.error);
  return true;
}

void DetachedTasks::wait_again(Live& live) {
  live.record.row.state = "waiting";
  live.record.row.relayed = false;  // the next worker may see the folder
  save(live.record);
  publish(live.record.row);
  demand(live);
}

// The outcome may be on disk although no worker could report it.
void DetachedTasks::lost(Live& live, Error why) {
  if (const auto kept = folder_.outcome(live.record.row.name)) {
    DetachedRow end;
    end.ok = true;  // the outcome itself says what it is
    end.digest = kept->digest;
    return finish(live, end);
  }
  if (live.record.retries == 0 || is_an_order(why)) return fail(live, std::move(why));
  --live.record.retries;
  wait_again(live);
}

void DetachedTasks::fail(Live& live, Error why) {
  DetachedRow end;
  end.error = std::move(why);
  finish(live, end);
}

void DetachedTasks::finish(Live& live, const DetachedRow& end) {
  DetachedRow& row = live.record.row;
  row.state = "done";
  row.relayed = false;
  row.cause = {};
  row.ok = end.ok;
  row.digest = end.digest;
  row.error = end.error;
  row.end_time_s = std::time(nullptr);
  if (const auto kept = folder_.outcome(row.name)) row.size = kept->size;
  if (!save(live.record)) folder_.keep(live.record);
  folder_.drop_call(row);
  if (row.ok) checkpoints_.remove(row.task);
  spdlog::info("detached task {} ended: {}", row.name,
               row.digest.empty() ? messages::text(row.error) : "its outcome is kept");
  publish(row);
  const SessionId session = session_of(row.task);
  state_.clients.erase(session);
  live_.erase(session);
  driver_.tell(lease::SessionClosed{session});
}

Result<void> DetachedTasks::save(const protocol::DetachedRecord& record) {
  auto saved = folder_.save(record);
  if (!saved) spdlog::error("detached task {}: {}", record.row.name, saved.error().text);
  return saved;
}

void DetachedTasks::look_after() {
  std::vector<SessionId> sessions;
  end_unfetched_tasks();
  for (const auto& [session, live] : live_) sessions.push_back(session);
  for (const SessionId& session : sessions)  // the core's answer may end the lease and the task with it
    if (const Live* live = find(session)) demand(*live);
  for (const SessionId& session : sessions)
    if (Live* live = find(session); live != nullptr && live->put_off) act(*live, lease::GrantWorker(*live->put_off));
  folder_.write_kept();
  const auto oldest = std::time(nullptr) - std::chrono::duration_cast<std::chrono::seconds>(setup_.keep).count();
  for (const protocol::DetachedRecord& record : folder_.records())
    if (record.row.state == "done" && record.row.end_time_s < oldest) folder_.remove(record.row.name);
  folder_.remove_unclaimed(kUnclaimed);
  checkpoints_.remove_older(std::chrono::duration_cast<std::chrono::seconds>(setup_.keep), kUnclaimed);
  timer_ = loop_.at(Clock::now() + kLook, [this] { look_after(); });
}

}  // namespace pounce::daemon
