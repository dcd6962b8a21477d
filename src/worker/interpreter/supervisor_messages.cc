// Messages of the supervisor: clients that are admitted or dismissed, detached tasks, and the end.
#include <algorithm>

#include "worker/interpreter/worker_engine.h"

namespace pounce::worker {
namespace {

constexpr std::chrono::seconds kOnItsWay{10};

}  // namespace

void WorkerEngine::read_supervisor() {
  if (!supervisor_.open()) return;
  supervisor_.flush();
  supervisor_.fill();
  while (const auto header = supervisor_.next()) {
    if (const auto* one = std::get_if<protocol::Admit>(&*header)) admit(*one);
    if (const auto* one = std::get_if<protocol::Dismiss>(&*header)) dismiss(one->session);
    if (const auto* one = std::get_if<protocol::Walltime>(&*header)) end_time_s_ = one->end_time_s;
    if (std::get_if<protocol::YieldSteps>(&*header)) yield_asked_ = state_ == NamespaceState::kStepping;
    if (const auto* one = std::get_if<protocol::RunDetached>(&*header)) run_detached(*one);
    if (const auto* one = std::get_if<protocol::EndWorker>(&*header)) one->only_if_idle ? end_if_idle() : end();
  }
  if (!supervisor_.open()) end();
}

void WorkerEngine::admit(const protocol::Admit& admit) {
  if (const auto key = transport::from_z85(admit.key)) clients_.admit(admit.session, *key);
}

// Cuts its connection. Otherwise a client that is admitted again would not learn that it has to attach.
void WorkerEngine::dismiss(const SessionId& session) {
  if (const ClientSeat* seat = clients_.seat(session); seat != nullptr && !seat->route.empty())
    sockets_.cut(seat->route);
  tell_core(exec::SessionDismissed{session});
  lanes_.dismiss(session);
  memory_relays_.close(session);
  kept_results_.drop_all(session);
  store_.drop_all(session);
  functions_.drop_all(session);
  clients_.dismiss(session);
  activity_changed_ = true;
}

void WorkerEngine::run_detached(const protocol::RunDetached& order) {
  if (ending_) return;  // pounced is told of the end
  if (auto blind = named_.contains(order.task) ? std::nullopt : not_shared(order.task, order.folder)) {
    protocol::DetachedEnded ended;
    ended.task = order.task;
    ended.error = std::move(*blind);
    return supervisor_.send(ended);
  }
  named_.insert(order.task);
  arriving_ = Payload{{}, {}, {}, nullptr, to_ns(Clock::now()), order.folder};
  tell_core(exec::TaskArrived{order.session, order.task, 0, true});
  arriving_.reset();
}

// A task that came before this order is reported at once: the supervisor tells pounced, and the lease goes on. The
// lease also goes on while an outcome is on its way to an attached client, since the outcome would be lost with this
// process.
void WorkerEngine::end_if_idle() {
  owing_ = owes();
  if (core_.unfinished() == 0 && !saving() && !owing_) return end();
  stays_ = activity_changed_ = true;
  activity_told_ = {};
}

// After this time pounced knows from its client that the lease is in use. A client that never acknowledges does not
// keep the worker forever.
bool WorkerEngine::owes() const {
  const auto owed = [this](const auto& entry) { return entry.second.attached && core_.owes(entry.first); };
  return Clock::now() < outcome_at_ + kOnItsWay && std::ranges::any_of(clients_.seats(), owed);
}

void WorkerEngine::end() {
  if (ending_.exchange(true)) return;
  wanted_ = activity_changed_ = true;
  if (job_)
    give_back_job();
  else if (core_.running())
    interrupt();
  for (auto& [session, seat] : clients_.seats())
    if (seat.attached) tell_leaving(seat);
}

// Gives the job back: the main thread has not taken it, and takes no more.
void WorkerEngine::give_back_job() {
  page_.ended();
  page_.acknowledged(job_->task);
  started_untold_.reset();
  job_.reset();
}

void WorkerEngine::tell_leaving(ClientSeat& seat) {
  if (auto started = page_.unacknowledged()) seat.outbox.post(protocol::Leaving{std::move(*started)});
}

}  // namespace pounce::worker
