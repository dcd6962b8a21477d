#include "pounced/net/client_handler.h"

#include <signal.h>

#include <cerrno>

#include "base/log.h"
#include "base/overloaded.h"
#include "pounced/leases/status_document.h"

namespace pounce::daemon {
namespace {

using namespace protocol;

// A client runs on this machine: it came over ipc.
bool process_exists(std::uint32_t pid) { return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno != ESRCH; }

}  // namespace

// Denies by default: a client may send these twelve messages.
void ClientHandler::hear(Peer& peer, const Header& header, bool back) {
  if (back && state_.clients.contains(peer.session)) driver_.tell(lease::SessionOpened{peer.session});
  std::visit(
      Overloaded{
          [&](const OpenSession& open) { take(peer, open); }, [&](const Demand& demand) { take(peer, demand); },
          [&](const CloseSession& close) { take(peer, close); }, [&](const Beat& beat) { take(peer, beat); },
          [&](const QueueAsk& queue) { take(peer, queue); }, [&](const ClassesAsk& classes) { take(peer, classes); },
          [&](const StatusAsk& status) { take(peer, status); }, [&](const ReleaseAsk& release) { take(peer, release); },
          [&](const SubmitDetached& task) { detached_.hear(peer, task); },
          [&](const DetachedAsk& question) { detached_.hear(peer, question); },
          [&](const CancelDetached& task) { detached_.hear(peer, task); },
          [&](const RelayDetached& outcome) { detached_.hear(peer, outcome); },
          [&](const auto&) {
            refuse(peer, ErrorCode::kProtocol, "a client does not say this on the control channel");
          }},
      header);
}

void ClientHandler::take(Peer& peer, const OpenSession& message) {
  if (!speaks_for(peer, message.session)) return;
  if (message.relays || detached_.keeps(peer.session)) return detached_.hear(peer, message);
  if (message.interpreter.empty() || !message.directory.starts_with('/'))
    return refuse(peer, ErrorCode::kProtocol, "a session names its interpreter and its directory");
  const bool is_new = !state_.clients.contains(peer.session);
  if (is_new) forget_the_gone();
  state_.clients[peer.session].opened = message;
  if (is_new) spdlog::info("session={} opened pid={} host={}", message.session.hex(), message.pid, message.host);
  if (!notice_.empty()) control_.send(peer, Notice{notice_});
  driver_.tell(lease::SessionOpened{peer.session});
}

void ClientHandler::forget_the_gone() {
  std::erase_if(state_.clients, [this](const auto& known) {
    const SessionId& session = known.first;
    if (driver_.core().has_session(session) || detached_.keeps(session)) return false;
    if (state_.peers.client(session) != nullptr && process_exists(known.second.opened.pid)) return false;
    spdlog::info("session={} is gone: it was not closed, and its process has ended", session.hex());
    state_.peers.forget_session(session);
    detached_.forget_checkpoints_of(session);
    return true;
  });
}

void ClientHandler::take(Peer& peer, const Demand& message) {
  if (!speaks_for(peer, message.session)) return;
  if (detached_.keeps(peer.session)) return detached_.hear(peer, message);
  const auto client = state_.clients.find(peer.session);
  if (client == state_.clients.end()) return refuse(peer, ErrorCode::kProtocol, "a demand comes after open_session");
  client->second.requests.clear();
  for (const Request& request : message.requests) client->second.requests[request.id] = request.resources;
  driver_.tell(lease::DemandChanged{peer.session, message.requests});
}

void ClientHandler::take(Peer& peer, const CloseSession& message) {
  if (!speaks_for(peer, message.session)) return;
  const SessionId session = peer.session;  // a copy: the peer goes with its entry
  if (detached_.keeps(session)) return state_.peers.forget_session(session);
  spdlog::info("session={} closed", session.hex());
  driver_.tell(lease::SessionClosed{session});
  state_.clients.erase(session);
  state_.peers.forget_session(session);
  detached_.forget_checkpoints_of(session);
}

void ClientHandler::take(Peer& peer, const Beat& message) {
  if (state_.clients.contains(peer.session)) driver_.tell(lease::SessionSeen{peer.session});
  if (!message.answer) control_.send(peer, Beat{true, message.sent_ns, Clock::now().time_since_epoch().count()});
}

void ClientHandler::take(Peer& peer, const QueueAsk& message) { answers_.queue(peer.key, message.question); }

void ClientHandler::take(Peer& peer, const ClassesAsk& message) { answers_.classes(peer.key, message); }

void ClientHandler::take(Peer& peer, const StatusAsk& message) {
  control_.send(peer, StatusIs{message.question, answers_.status()});
}

// A client may release any session's leases: every peer on the control channel is the same user.
void ClientHandler::take(Peer& peer, const ReleaseAsk& message) {
  for (const LeaseId& lease : message.leases) driver_.tell(release_asked(lease, message));
  control_.send(peer, release_rows(message, driver_.core()));
}

bool ClientHandler::speaks_for(Peer& peer, const SessionId& session) {
  if (session == peer.session) return true;
  refuse(peer, ErrorCode::kNotAuthenticated, "a client speaks for its own session only");
  return false;
}

void ClientHandler::refuse(Peer& peer, ErrorCode code, const std::string& text) {
  spdlog::warn("session={} refused: {}", peer.session.hex(), text);
  control_.send(peer, Refused{Error{code, text, {}, {}}});
}

}  // namespace pounce::daemon
