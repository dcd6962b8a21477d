// A named task's life: submitted, granted a worker, run, lost or ended.
#include "pounced/named_tasks.h"

#include <algorithm>
#include <ctime>

#include "base/log.h"

namespace pounce::daemon {
namespace {

using namespace std::chrono_literals;
using protocol::NamedRow;

constexpr auto kLook = 10s;
constexpr std::chrono::hours kUnclaimed{1};

bool may_have_started(const Error& death, const TaskId& task) {
  const auto started = death.context.find("started");
  return started == death.context.end() || started->second.find(task.hex()) != std::string::npos;
}

// Somebody ended the job on purpose: running it again would undo that.
bool is_an_order(const Error& error) { return error.code == ErrorCode::kJobCancelled; }

// What a person wants to know of the wait, as in LeaseStatus.
void tell_wait(const lease::TellStatus& order, NamedRow& row) {
  const bool queued = order.state == lease::LeaseState::kQueued;
  const lease::Waiting waiting = queued ? order.waiting : lease::Waiting{};
  row.class_name = waiting.class_name;
  row.slurm_reason = waiting.sentence;
  row.ahead = waiting.ahead;
  row.start_estimate_s = queued ? order.start_estimate_s : 0;
  row.limit = waiting.limit;
  row.eta = waiting.eta;
}

template <class Action>
SessionId addressee(const Action& action) {
  if constexpr (requires { action.session; })
    return action.session;
  else
    return {};
}

}  // namespace

SessionId NamedTasks::session_of(const TaskId& task) {
  std::array<std::uint8_t, SessionId::kBytes> bytes;
  std::ranges::copy(task.bytes(), bytes.begin());
  return SessionId(bytes);
}

NamedTasks::Live* NamedTasks::find(const SessionId& session) {
  const auto found = live_.find(session);
  return found == live_.end() ? nullptr : &found->second;
}

NamedTasks::Live* NamedTasks::find(const std::string& name) {
  for (auto& [session, live] : live_)
    if (live.record.row.name == name) return &live;
  return nullptr;
}

void NamedTasks::restore() {
  for (protocol::NamedRecord& record : folder_.records()) {
    if (record.row.state == "done" || !setup_.instances.contains(record.instance)) continue;
    record.instance = setup_.instance;
    spdlog::info("named task {} goes on", record.row.name);
    const SessionId session = session_of(record.row.task);
    begin(live_.insert_or_assign(session, Live{std::move(record)}).first->second);
  }
  look_after();
}

void NamedTasks::begin(Live& live) {
  const SessionId session = session_of(live.record.row.task);
  live.last_use = Clock::now();
  books_.clients[session].opened = live.record.opened;
  books_.clients[session].wants[kWant] = live.record.resources;
  driver_.tell(lease::SessionOpened{session, true});
  if (const Live* still = find(session)) demand(*still);
}

void NamedTasks::demand(const Live& live) {
  lease::Want want{kWant, live.record.resources, 1, 0, {}};
  if (live.record.row.state == "running") want = {kWant, live.record.resources, 0, 1, {live.record.row.lease}};
  driver_.tell(lease::DemandChanged{session_of(live.record.row.task), {want}});
}

bool NamedTasks::take(const lease::Action& action) {
  return std::visit(
      [this](const auto& order) {
        Live* live = find(addressee(order));
        return live != nullptr && act(*live, order);
      },
      action);
}

bool NamedTasks::act(Live& live, const lease::AdmitClient& order) {
  if (const Guest* worker = books_.guests.worker(order.link)) live.links[worker->worker] = order.link;
  return !live.record.row.carried;
}

// Also repeated, for the same interpreter: then it answers again if it has ended the task.
bool NamedTasks::act(Live& live, const lease::GrantWorker& order) {
  protocol::NamedRecord& record = live.record;
  if (record.row.state == "running") {
    if (record.row.lease == order.lease && record.worker != order.worker) return true;  // the first of several has it
    if (record.row.lease == order.lease && record.epoch == order.epoch) {
      if (!record.row.carried) run(live);
      return !record.row.carried;
    }
    lost(live, {ErrorCode::kLost, "The task may have executed: it was in a worker that was lost meanwhile.", {}, {}});
    return true;
  }
  record.row.state = "running";
  record.row.reason.clear();
  record.row.lease = order.lease;
  record.worker = order.worker;
  record.epoch = order.epoch;
  save(record);  // before it can start
  publish(record.row);
  run(live);
  demand(live);
  return true;
}

void NamedTasks::run(Live& live) {
  const NamedRow& row = live.record.row;
  const WorkerIndex index = live.record.worker;
  Guest* worker = books_.guests.worker(live.links[index]);
  if (worker == nullptr) return;  // it comes back, and is granted again
  spdlog::info("named task {} lease={}", row.name, row.lease.hex());
  hall_.send(*worker, protocol::RunNamed{row.lease, index, live.record.epoch, session_of(row.task), row.task,
                                         folder_.of(row.name)});
}

bool NamedTasks::act(Live& live, const lease::TellStatus& order) {
  NamedRow& row = live.record.row;
  if (row.state == "running" && row.lease != order.lease) return true;
  row.reason = order.reason;
  row.lease = order.lease;
  row.job = order.job.value;
  row.node = order.node;
  tell_wait(order, row);
  publish(row);
  return !row.carried;
}

bool NamedTasks::act(Live& live, const lease::TellWorkerDown& order) {
  const protocol::NamedRecord& record = live.record;
  if (record.row.state != "running" || record.row.lease != order.lease || record.worker != order.worker ||
      record.epoch != order.epoch)
    return true;
  if (may_have_started(order.error, record.row.task))
    lost(live, order.error);
  else
    wait_again(live);
  return true;
}

bool NamedTasks::act(Live& live, const lease::TellLeaseEnded& order) {
  if (live.record.row.state == "running" && live.record.row.lease == order.lease) lost(live, order.error);
  return true;
}

bool NamedTasks::act(Live& live, const lease::TellWantFailed& order) {
  fail(live, order.error);
  return true;
}

void NamedTasks::wait_again(Live& live) {
  live.record.row.state = "waiting";
  live.record.row.carried = false;  // the next worker may see the folder
  save(live.record);
  publish(live.record.row);
  demand(live);
}

// Its end may be on disk although nobody could tell us of it.
void NamedTasks::lost(Live& live, Error why) {
  if (const auto kept = folder_.outcome(live.record.row.name)) {
    NamedRow end;
    end.ok = true;  // what it is, the outcome says itself
    end.digest = kept->digest;
    return finish(live, end);
  }
  if (live.record.retries == 0 || is_an_order(why)) return fail(live, std::move(why));
  --live.record.retries;
  wait_again(live);
}

void NamedTasks::fail(Live& live, Error why) {
  NamedRow end;
  end.error = std::move(why);
  finish(live, end);
}

void NamedTasks::finish(Live& live, const NamedRow& end) {
  NamedRow& row = live.record.row;
  row.state = "done";
  row.carried = false;
  row.reason.clear();
  row.ok = end.ok;
  row.digest = end.digest;
  row.error = end.error;
  row.end_time_s = std::time(nullptr);
  if (const auto kept = folder_.outcome(row.name)) row.size = kept->size;
  save(live.record);
  folder_.drop_call(row);
  spdlog::info("named task {} ended: {}", row.name, row.digest.empty() ? row.error.text : "its outcome is kept");
  publish(row);
  const SessionId session = session_of(row.task);
  books_.clients.erase(session);
  live_.erase(session);
  driver_.tell(lease::SessionClosed{session});
}

void NamedTasks::save(const protocol::NamedRecord& record) {
  if (const auto saved = folder_.save(record); !saved) spdlog::error("named task {}: {}", record.row.name, saved.error().text);
}

void NamedTasks::look_after() {
  std::vector<SessionId> sessions;
  end_what_nobody_fetched();
  for (const auto& [session, live] : live_) sessions.push_back(session);
  for (const SessionId& session : sessions)  // the answer may be that its lease has ended, and so has it
    if (const Live* live = find(session)) demand(*live);
  const auto oldest = std::time(nullptr) - std::chrono::duration_cast<std::chrono::seconds>(setup_.keep).count();
  for (const protocol::NamedRecord& record : folder_.records())
    if (record.row.state == "done" && record.row.end_time_s < oldest) folder_.remove(record.row.name);
  folder_.remove_unclaimed(kUnclaimed);
  timer_ = loop_.at(Clock::now() + kLook, [this] { look_after(); });
}

}  // namespace pounce::daemon
