#include "simulator/client.h"

#include <algorithm>
#include <sstream>

#include "simulator/world.h"

namespace pounce::simulator {
namespace {

constexpr auto kOvertaken = 300ms;  // src/client/daemon_session.cc
constexpr auto kToldSoon = 2s;      // a task that runs for so long is known to run

// So short that a history sees their ends; `fenced_after` stays longer than the worker's watchdog.
task::Settings settings() {
  task::Settings settings;
  settings.window = 4;
  settings.fenced_after = kWatchdogBusy + 10s;
  return settings;
}

// Here an interpreter's number.
PublicKey key_of_ended(const EndedInterpreter& ended) {
  return ended.key.empty() ? PublicKey{} : key_of(static_cast<InterpreterNumber>(std::stoul(ended.key)));
}

lease::DemandChanged demand_of(const SessionId& session, const std::vector<Request>& requests) {
  return {session, requests};
}

std::vector<Request> all_needed(std::vector<Request> requests) {
  for (Request& one : requests)
    if (one.resources.is_pool() && !one.holds.empty()) one.waiting = std::max(one.waiting, 1u);
  return requests;
}

}  // namespace

Client::Client(World& world, const InstanceId& instance, const SessionId& id, Bug bug)
    : world_(world), instance_(instance), id_(id), bug_(bug), machine_(settings()) {
  world_.time.in(world_.random.between(0ms, 1s), [this] { second(); });
}

bool Client::stopped() const { return world_.time.now() < stopped_until_; }

// ---- the task core -------------------------------------------------------------------------------------------------

void Client::happened(const task::Event& event) {
  if (!alive_) return;
  try {
    const auto actions = machine_.handle(event, world_.time.now());
    machine_.check_invariants();
    for (const task::Action& action : actions) carry_out(action);
  } catch (const std::exception& broken) {
    return world_.fail(broken.what());
  }
  arm();
}

void Client::arm() {
  const TimePoint due = std::max(machine_.next_deadline(), stopped_until_);
  if (due == TimePoint::max() || due >= armed_) return;
  armed_ = due;
  world_.time.at(due, [this, due] {
    if (armed_ != due) return;
    armed_ = TimePoint::max();
    stopped() ? arm() : happened(task::TimePassed{});
  });
}

void Client::carry_out(const task::Action& action) {
  std::visit([this](const auto& one) { on(one); }, action);
}

DataLink* Client::link_at(const task::WorkerRef& place) {
  const auto found = links_.find(place);
  return found == links_.end() ? nullptr : found->second.get();
}

void Client::on(const task::Connect& order) {
  const auto grant = grants_.find(order.place);
  if (grant == grants_.end() || grant->second.epoch != order.epoch) return;
  auto& link = links_[order.place] =
      std::make_shared<DataLink>(world_, *this, order.place, order.epoch, grant->second.interpreter);
  link->open();
}

void Client::on(const task::Disconnect& order) {
  const auto found = links_.find(order.place);
  if (found == links_.end()) return;
  found->second->close();
  links_.erase(found);
}

void Client::on(const task::SendTask& order) {
  DataLink* link = link_at(order.place);
  if (link == nullptr) return;
  world_.ledger.task(order.task).sent_to.push_back(link->to());
  link->send(exec::TaskArrived{id_, order.task, bug_ == Bug::kAttemptNotSent ? 0 : order.attempt});
}

void Client::on(const task::SendCancel& order) {
  if (answering_ && bug_ == Bug::kCancelForgotten) return;
  if (DataLink* link = link_at(order.place))
    link->send(exec::CancelRequested{id_, order.task, order.grace, order.only_if_queued});
}

void Client::on(const task::SendQuery& order) {
  if (bug_ == Bug::kNoQuery) return;
  if (DataLink* link = link_at(order.place)) link->send(exec::StatesRequested{id_, order.tasks, true});
}

void Client::on(const task::Acknowledge& order) {
  if (DataLink* link = link_at(order.place)) link->send(exec::OutcomesAcknowledged{id_, {order.task}});
}

void Client::on(const task::Deliver& order) {
  if (arriving_ == nullptr) return world_.fail("an outcome is delivered that has not come");
  ++done;
  std::erase(tasks_, order.task);
  world_.complain(world_.ledger.delivered(order.task, id_, *arriving_));
  if (arriving_link_ != nullptr && world_.random.chance(world_.faults.repeated)) arriving_link_->repeat(order.task);
}

void Client::on(const task::Fail& order) {
  ++lost;
  world_.note(" client ", number(), ": task ", number_of(order.task), " fails: ", wire_name(order.error.code), ", ",
              Said{order.error.cause});
  std::erase(tasks_, order.task);
  world_.complain(world_.ledger.failed(order.task, id_, order.error));
  const bool is_right = order.error.code == ErrorCode::kCancelled || order.error.code == ErrorCode::kUnsatisfiable;
  if (world_.calm() && !is_right) world_.fail("a task is lost, and nothing went wrong");
}

void Client::on(const task::SendDemand& order) {
  if (bug_ == Bug::kDemandOnce && order.requests == told_demand_) return;
  told_demand_ = order.requests;
  say(demand_of(id_, bug_ == Bug::kPoolKept ? all_needed(order.requests) : order.requests));
}

// ---- workers -------------------------------------------------------------------------------------------------------

void Client::link_lost(const task::WorkerRef& place, Epoch epoch) {
  happened(task::WorkerUnreachable{place, epoch});
  release_held();
}

void Client::outcome(const task::WorkerRef& place, Epoch epoch, const TaskId& task, const Outcome& outcome,
                     bool whole) {
  if (!alive_) return;
  if (!whole) {
    if (bug_ == Bug::kAckedTooEarly) on(task::Acknowledge{place, task});
    return;
  }
  const TaskRecord& record = world_.ledger.task(task);
  if (record.session != id_) return world_.fail("a session is sent another one's outcome (I11)");
  const DataLink* link = link_at(place);
  if (outcome.run && link != nullptr && machine_.state(task) == task::TaskState::kSent) {
    const Run& run = record.runs[*outcome.run];  // its own length: a client that stood still may hear of it much later
    if (run.end - run.begun > kToldSoon && link->undisturbed_since() < run.begun && !record.large)
      world_.fail("a task ran for long, and its client was not told");
  }
  arriving_ = &outcome;
  arriving_link_ = link_at(place);
  happened(task::OutcomeArrived{place, epoch, task});
  arriving_ = nullptr;
  arriving_link_ = nullptr;
}

void Client::answered(const task::WorkerRef& place, Epoch epoch, const TaskId& task, RemoteTaskState state) {
  const bool unknown = state == RemoteTaskState::kUnknown || state == RemoteTaskState::kEnding;
  if (unknown && bug_ == Bug::kUnknownIgnored) return;
  answering_ = true;
  happened(task::QueryAnswered{place, epoch, task, state});
  answering_ = false;
}

// ---- pounced -------------------------------------------------------------------------------------------------------

void Client::say(const lease::Event& event) {
  if (daemon_) world_.to_daemon(daemon_, instance_, daemon_life_, event, Connection::Repeat::kMaybe);
}

void Client::connect() {
  Daemon& daemon = world_.daemon(instance_);
  if (daemon_) return;
  if (daemon.life() == 0) {
    world_.ledger.daemon_down(true);
    if (!world_.settling() && world_.random.chance(world_.faults.no_daemon))
      happened(task::DaemonFailed{{ErrorCode::kDaemonUnavailable, "simulated", {}, {}}});
    return;
  }
  daemon_life_ = daemon.life();
  daemon_ = std::make_shared<Connection>(world_);
  daemon_->notices(End::kClient, {[this, wire = std::weak_ptr(daemon_)] { daemon_lost(wire.lock()); }, {}, {}});
  daemon.connected(*this, daemon_);
  say(lease::SessionOpened{id_});
  happened(task::SessionOpened{});
}

void Client::daemon_lost(const Wire& wire) {
  if (wire == daemon_) daemon_.reset();
}

void Client::granted(const lease::GrantWorker& grant, InterpreterNumber interpreter) {
  const task::WorkerRef place{grant.lease, grant.worker};
  world_.note(" client ", number(), " is granted ", Short{grant.lease}, ".", grant.worker.value, "@",
              grant.epoch.value);
  grants_[place] = {grant.epoch, interpreter};
  happened(task::WorkerGranted{grant.request, place, grant.epoch,
                               bug_ == Bug::kKeyIgnored ? PublicKey{} : key_of(interpreter)});
}

void Client::worker_down(const lease::TellWorkerDown& down) {
  world_.note(" client ", number(), " is told: ", Short{down.lease}, ".", down.worker.value, "@", down.epoch.value,
              " died");
  const task::WorkerRef place{down.lease, down.worker};
  hold_back(task::WorkerDied{place, down.epoch, down.error, down.ended.started, key_of_ended(down.ended)}, down.lease);
}

void Client::lease_ended(const lease::TellLeaseEnded& ended) {
  world_.note(" client ", number(), " is told: lease ", Short{ended.lease}, " ended: ", Said{ended.error.cause});
  hold_back(task::LeaseLost{ended.request, ended.lease, ended.error}, ended.lease);
  if (bug_ == Bug::kPoolLostWhole) lose_siblings(ended);
}

void Client::lose_siblings(const lease::TellLeaseEnded& ended) {
  const auto demand = machine_.demand();
  const auto whose = std::ranges::find(demand, ended.request, &Request::id);
  if (whose == demand.end() || !whose->resources.is_pool()) return;
  for (const Request& one : demand)
    if (one.resources == whose->resources)
      for (const LeaseId& lease : one.holds) hold_back(task::LeaseLost{one.id, lease, ended.error}, lease);
}

void Client::request_failed(const lease::TellRequestFailed& failed) {
  happened(task::RequestRefused{failed.request, failed.error});
}

// Results that it has overtaken are read first.
void Client::hold_back(task::Event event, const LeaseId& lease) {
  held_.push_back({std::move(event), lease, world_.time.now() + kOvertaken});
  release_held();
  world_.time.in(kOvertaken, [this] { release_held(); });
}

void Client::release_held() {
  const auto ready = [this](const Held& held) {
    return world_.time.now() >= held.due || std::ranges::none_of(links_, [&](const auto& entry) {
             return entry.first.lease == held.lease && entry.second->connected();
           });
  };
  while (!held_.empty() && ready(held_.front())) {
    const Held held = std::move(held_.front());
    held_.erase(held_.begin());
    happened(held.event);
    if (std::holds_alternative<task::LeaseLost>(held.event))
      std::erase_if(grants_, [&](const auto& entry) { return entry.first.lease == held.lease; });
  }
}

// ---- the end -------------------------------------------------------------------------------------------------------

std::optional<std::string> Client::unsettled() const {
  if (!alive_) return std::nullopt;
  if (!tasks_.empty())
    return "session " + id_.hex() + ": task " + std::to_string(number_of(tasks_.front())) + " has not ended (I5, I9)";
  if (machine_.needs_daemon()) return "session " + id_.hex() + " still holds a lease";
  return std::nullopt;
}

std::string Client::history() const {
  std::string text = "session " + id_.hex() + (alive_ ? "" : " gone") + " asked " + std::to_string(asked) + " done " +
                     std::to_string(done) + " lost " + std::to_string(lost) + "\n";
  for (const Request& request : machine_.demand())
    for (const LeaseId& held : request.holds)
      text += "  holds " + held.hex() + " for request " + std::to_string(request.id.value) + "\n";
  for (const TaskId& id : tasks_) {
    const TaskRecord& task = world_.ledger.task(id);
    const auto state = machine_.state(id);
    text += "  task " + std::to_string(number_of(id)) + " state " +
            (state ? std::to_string(static_cast<int>(*state)) : "none") + " runs " + std::to_string(task.runs.size()) +
            " sent " + std::to_string(task.sent_to.size()) + (task.cancel_asked ? " cancelled" : "") + "\n";
  }
  return text;
}

}  // namespace pounce::simulator
