#include "pounced/worker_desk.h"

#include "base/log.h"
#include "transport/context.h"

namespace pounce::daemon {
namespace {

using namespace protocol;

constexpr std::size_t kEndpointBytes = 256;

}  // namespace

// Deny by default: of all messages, these six.
void WorkerDesk::hear(Guest& guest, const Header& header) {
  if (const auto* up = std::get_if<WorkerUp>(&header)) return take(guest, *up);
  if (const auto* up = std::get_if<InterpreterUp>(&header)) return take(guest, *up);
  if (const auto* down = std::get_if<InterpreterDown>(&header)) return take(guest, *down);
  if (const auto* beat = std::get_if<WorkerBeat>(&header)) return take(guest, *beat);
  if (const auto* ended = std::get_if<NamedEnded>(&header)) return take(guest, *ended);
  if (const auto* beat = std::get_if<Beat>(&header)) return take(guest, *beat);
  refuse(guest, ErrorCode::kProtocol, "a worker does not say this in the hall");
}

void WorkerDesk::take(Guest& guest, const WorkerUp& message) {
  if (!guest.named) guest.worker = message.worker;
  if (!speaks_for(guest, message.lease, message.worker)) return;
  guest.named = true;
  books_.guests.only_worker(guest);
  spdlog::info("lease={} worker={} up job={} restart={} node={} pid={}", message.lease.hex(), message.worker.value,
               message.job, message.restart, message.node, message.pid);
  const bool ready =
      message.interpreter_ready && interpreter_is(guest, message.worker, message.epoch, message.endpoint, message.key);
  const lease::WorkerLink link = guest.link;
  driver_.tell(lease::WorkerConnected{message.lease, message.worker, link, SlurmJobId{message.job}, message.restart,
                                      message.node, message.devices});
  if (ready) driver_.tell(lease::InterpreterStarted{message.lease, message.worker, link, message.epoch});
  for (const lease::LeaseView& view : driver_.core().leases())
    if (view.lease == message.lease) books_.uses.up(view);
}

void WorkerDesk::take(Guest& guest, const InterpreterUp& message) {
  if (!speaks_for(guest, message.lease, message.worker)) return;
  if (!interpreter_is(guest, message.worker, message.epoch, message.endpoint, message.key)) return;
  spdlog::info("lease={} worker={} interpreter up epoch={}", message.lease.hex(), message.worker.value,
               message.epoch.value);
  driver_.tell(lease::InterpreterStarted{message.lease, message.worker, guest.link, message.epoch});
}

void WorkerDesk::take(Guest& guest, const InterpreterDown& message) {
  if (!speaks_for(guest, message.lease, message.worker)) return;
  spdlog::warn("lease={} worker={} interpreter down epoch={}: {}", message.lease.hex(), message.worker.value,
               message.epoch.value, message.error.text);
  driver_.tell(lease::InterpreterDied{message.lease, message.worker, guest.link, message.epoch, message.error,
                                      message.restarting});
}

void WorkerDesk::take(Guest& guest, const WorkerBeat& message) {
  if (!speaks_for(guest, message.lease, message.worker)) return;
  books_.uses.beat(message, Clock::now());
  if (message.leaving) return driver_.tell(lease::WorkerLost{message.lease, message.worker, guest.link});
  const lease::WorkerHeard heard{message.lease, message.worker, guest.link, message.running, message.warnings};
  named_.hear(heard);
  driver_.tell(heard);
}

void WorkerDesk::take(Guest& guest, const NamedEnded& message) {
  if (speaks_for(guest, message.lease, guest.worker)) named_.hear(guest, message);
}

void WorkerDesk::take(Guest& guest, const Beat& message) {
  if (!message.answer) hall_.send(guest, Beat{true, message.sent_ns, Clock::now().time_since_epoch().count()});
}

bool WorkerDesk::speaks_for(Guest& guest, const LeaseId& lease, WorkerIndex worker) {
  if (lease == guest.lease && worker == guest.worker) return true;
  refuse(guest, ErrorCode::kNotAuthenticated, "a worker speaks for its own lease and index only");
  return false;
}

// Clients will connect to what is noted here: it must at least look like an address and a key.
bool WorkerDesk::interpreter_is(Guest& guest, WorkerIndex worker, Epoch epoch, const std::string& endpoint,
                                const std::string& key) {
  if (!endpoint.starts_with("tcp://") || endpoint.size() > kEndpointBytes || !transport::from_z85(key)) {
    refuse(guest, ErrorCode::kProtocol, "an interpreter has a tcp endpoint and a key");
    return false;
  }
  books_.interpreters[{guest.lease, worker}] = {epoch, endpoint, key};
  return true;
}

void WorkerDesk::refuse(Guest& guest, ErrorCode code, const std::string& text) {
  spdlog::warn("lease={} refused: {}", guest.lease.hex(), text);
  hall_.send(guest, Refused{Error{code, text, {}, {}}});
}

}  // namespace pounce::daemon
