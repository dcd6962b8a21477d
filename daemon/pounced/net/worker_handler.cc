#include "pounced/net/worker_handler.h"

#include <algorithm>

#include "base/log.h"
#include "base/overloaded.h"
#include "messages/sentence.h"

namespace pounce::daemon {
namespace {

using namespace protocol;

constexpr std::size_t kEndpointBytes = 256;

}  // namespace

// Denies by default: a worker may send these seven messages.
void WorkerHandler::hear(Peer& peer, const Header& header) {
  std::visit(
      Overloaded{[&](const WorkerUp& up) { take(peer, up); }, [&](const InterpreterUp& up) { take(peer, up); },
                 [&](const InterpreterDown& down) { take(peer, down); },
                 [&](const WorkerBeat& beat) { take(peer, beat); }, [&](const WorkerGpus& gpus) { take(peer, gpus); },
                 [&](const DetachedEnded& ended) { take(peer, ended); }, [&](const Beat& beat) { take(peer, beat); },
                 [&](const auto&) {
                   refuse(peer, ErrorCode::kProtocol, "a worker does not say this on the control channel");
                 }},
      header);
}

// Either the link is down for a moment and the worker says hello again, or the process is dead and the batch system
// knows how it ended.
void WorkerHandler::lost(const Peer& peer) {
  if (!peer.named) return;
  spdlog::info("lease={} worker={} its connection is gone", peer.lease.hex(), peer.worker.value);
  driver_.tell(lease::WorkerLost{peer.lease, peer.worker, peer.link, true});
}

void WorkerHandler::take(Peer& peer, const WorkerUp& message) {
  if (!peer.named) peer.worker = message.worker;
  if (!speaks_for(peer, message.lease, message.worker)) return;
  if (message.interpreter_ready && !may_be_interpreter(peer, message.endpoint, message.key)) return;
  peer.named = true;
  peer.node = message.node;
  spdlog::info("lease={} worker={} up job={} restart={} node={} pid={}", message.lease.hex(), message.worker.value,
               message.job, message.restart, message.node, message.pid);
  const lease::WorkerLink link = peer.link;
  driver_.tell(lease::WorkerConnected{message.lease, message.worker, link, SlurmJobId{message.job}, message.restart,
                                      message.node, message.devices, peer.key, message.clients});
  // This worker was sent away: another keeps the place.
  if (!driver_.core().speaks_for(message.lease, message.worker, link)) return;
  if (Peer* one = state_.peers.worker(link)) state_.peers.only_worker(*one);
  if (message.interpreter_ready)
    started(message.lease, message.worker, link, {message.epoch, message.endpoint, message.key});
  for (const lease::LeaseView& view : driver_.core().leases())
    if (view.lease == message.lease) state_.uses.up(view);
}

void WorkerHandler::take(Peer& peer, const InterpreterUp& message) {
  if (!speaks_for(peer, message.lease, message.worker)) return;
  if (!may_be_interpreter(peer, message.endpoint, message.key)) return;
  spdlog::info("lease={} worker={} interpreter up epoch={}", message.lease.hex(), message.worker.value,
               message.epoch.value);
  started(message.lease, message.worker, peer.link, {message.epoch, message.endpoint, message.key});
}

void WorkerHandler::started(const LeaseId& lease, WorkerIndex worker, lease::WorkerLink link, Interpreter interpreter) {
  if (!driver_.core().speaks_for(lease, worker, link)) return;  // it was sent away
  const Epoch epoch = interpreter.epoch;
  state_.interpreters[{lease, worker}] = std::move(interpreter);
  driver_.tell(lease::InterpreterStarted{lease, worker, link, epoch});
  forget_the_gone();
}

// Forgets leases that ended without a journal line. Only a worker's report made them known, so no event tells of
// their end.
void WorkerHandler::forget_the_gone() {
  const auto leases = driver_.core().leases();
  const auto gone = [&leases](const LeaseId& lease) {
    return std::ranges::find(leases, lease, &lease::LeaseView::lease) == leases.end();
  };
  std::erase_if(state_.interpreters, [&](const auto& entry) { return gone(entry.first.first); });
  state_.uses.forget(gone);
}

void WorkerHandler::take(Peer& peer, const InterpreterDown& message) {
  if (!speaks_for(peer, message.lease, message.worker)) return;
  const bool left_idle = message.error.code == ErrorCode::kLeaseEnded;
  spdlog::log(left_idle ? spdlog::level::info : spdlog::level::warn, "lease={} worker={} interpreter down epoch={}: {}",
              message.lease.hex(), message.worker.value, message.epoch.value, messages::text(message.error));
  avoid(peer.node, message.error);
  if (!message.ended.failed_gpu.empty()) launcher_.leave_out(message.lease, message.ended.failed_gpu);
  driver_.tell(lease::InterpreterDied{message.lease, message.worker, peer.link, message.epoch, message.error,
                                      message.restarting, message.ended});
}

void WorkerHandler::take(Peer& peer, const WorkerBeat& message) {
  if (!speaks_for(peer, message.lease, message.worker)) return;
  if (state_.uses.beat(message, Clock::now())) notes_.hold_begins(message.lease);
  if (message.leaving)
    return driver_.tell(lease::WorkerLost{message.lease, message.worker, peer.link, false, message.state});
  const lease::WorkerSeen seen{message.lease,   message.worker,   peer.link,
                               message.running, message.warnings, message.state};
  detached_.hear(seen);
  driver_.tell(seen);
}

void WorkerHandler::take(Peer& peer, const WorkerGpus& message) {
  if (!speaks_for(peer, message.lease, message.worker)) return;
  state_.uses.gpus(message);
  for (const model::GpuRow& gpu : message.gpus)
    if (!gpu.failed.empty()) avoid(message.node, {ErrorCode::kDeviceFailed, gpu.failed, {}, {}});
}

// Called before the core hears of the failure, because the core may request the next lease at once.
void WorkerHandler::avoid(const std::string& node, const Error& why) {
  state_.avoided.hear(node, why, Clock::now() + avoid_node_);
}

void WorkerHandler::take(Peer& peer, const DetachedEnded& message) {
  if (speaks_for(peer, message.lease, peer.worker)) detached_.hear(peer, message);
}

void WorkerHandler::take(Peer& peer, const Beat& message) {
  if (!message.answer) control_.send(peer, Beat{true, message.sent_ns, Clock::now().time_since_epoch().count()});
}

bool WorkerHandler::speaks_for(Peer& peer, const LeaseId& lease, WorkerIndex worker) {
  if (lease == peer.lease && worker == peer.worker) return true;
  refuse(peer, ErrorCode::kNotAuthenticated, "a worker speaks for its own lease and index only");
  return false;
}

// Clients will connect there, so it must at least look like an address and a key.
bool WorkerHandler::may_be_interpreter(Peer& peer, const std::string& endpoint, const std::string& key) {
  if (endpoint.starts_with("tcp://") && endpoint.size() <= kEndpointBytes && transport::from_z85(key)) return true;
  refuse(peer, ErrorCode::kProtocol, "an interpreter has a tcp endpoint and a key");
  return false;
}

void WorkerHandler::refuse(Peer& peer, ErrorCode code, const std::string& text) {
  spdlog::warn("lease={} refused: {}", peer.lease.hex(), text);
  control_.send(peer, Refused{Error{code, text, {}, {}}});
}

}  // namespace pounce::daemon
