#include "pounced/client_desk.h"

#include "base/log.h"
#include "pounced/release.h"

namespace pounce::daemon {
namespace {

using namespace protocol;

lease::Want to_core(const Want& want) { return {want.id, want.resources, want.waiting, want.running, want.holds}; }

}  // namespace

// Deny by default: of all messages, these twelve.
void ClientDesk::hear(Guest& guest, const Header& header, bool back) {
  if (back && books_.clients.contains(guest.session)) driver_.tell(lease::SessionOpened{guest.session});
  if (const auto* open = std::get_if<OpenSession>(&header)) return take(guest, *open);
  if (const auto* demand = std::get_if<Demand>(&header)) return take(guest, *demand);
  if (const auto* close = std::get_if<CloseSession>(&header)) return take(guest, *close);
  if (const auto* beat = std::get_if<Beat>(&header)) return take(guest, *beat);
  if (const auto* queue = std::get_if<QueueAsk>(&header)) return take(guest, *queue);
  if (const auto* classes = std::get_if<ClassesAsk>(&header)) return take(guest, *classes);
  if (const auto* status = std::get_if<StatusAsk>(&header)) return take(guest, *status);
  if (const auto* release = std::get_if<ReleaseAsk>(&header)) return take(guest, *release);
  if (const auto* name = std::get_if<NameTask>(&header)) return named_.hear(guest, *name);
  if (const auto* name = std::get_if<NameAsk>(&header)) return named_.hear(guest, *name);
  if (const auto* name = std::get_if<NameEnd>(&header)) return named_.hear(guest, *name);
  if (const auto* name = std::get_if<NameCarry>(&header)) return named_.hear(guest, *name);
  refuse(guest, ErrorCode::kProtocol, "a client does not say this in the hall");
}

void ClientDesk::take(Guest& guest, const OpenSession& message) {
  if (!speaks_for(guest, message.session)) return;
  if (message.carries || named_.keeps(guest.session)) return named_.hear(guest, message);
  if (message.interpreter.empty() || !message.directory.starts_with('/'))
    return refuse(guest, ErrorCode::kProtocol, "a session names its interpreter and its directory");
  const bool is_new = !books_.clients.contains(guest.session);
  books_.clients[guest.session].opened = message;
  if (is_new) spdlog::info("session={} opened pid={} host={}", message.session.hex(), message.pid, message.host);
  if (!notice_.empty()) hall_.send(guest, Notice{notice_});
  driver_.tell(lease::SessionOpened{guest.session});
}

void ClientDesk::take(Guest& guest, const Demand& message) {
  if (!speaks_for(guest, message.session)) return;
  if (named_.keeps(guest.session)) return named_.hear(guest, message);
  const auto client = books_.clients.find(guest.session);
  if (client == books_.clients.end()) return refuse(guest, ErrorCode::kProtocol, "a demand comes after open_session");
  client->second.wants.clear();
  std::vector<lease::Want> wants;
  for (const Want& want : message.wants) {
    client->second.wants[want.id] = want.resources;
    wants.push_back(to_core(want));
  }
  driver_.tell(lease::DemandChanged{guest.session, std::move(wants)});
}

void ClientDesk::take(Guest& guest, const CloseSession& message) {
  if (!speaks_for(guest, message.session)) return;
  const SessionId session = guest.session;  // the guest goes with its entry
  if (named_.keeps(session)) return books_.guests.forget_session(session);
  spdlog::info("session={} closed", session.hex());
  driver_.tell(lease::SessionClosed{session});
  books_.clients.erase(session);
  books_.guests.forget_session(session);
}

void ClientDesk::take(Guest& guest, const Beat& message) {
  if (books_.clients.contains(guest.session)) driver_.tell(lease::SessionHeard{guest.session});
  if (!message.answer) hall_.send(guest, Beat{true, message.sent_ns, Clock::now().time_since_epoch().count()});
}

void ClientDesk::take(Guest& guest, const QueueAsk& message) { answers_.queue(guest.key, message.request); }

void ClientDesk::take(Guest& guest, const ClassesAsk& message) { answers_.classes(guest.key, message); }

void ClientDesk::take(Guest& guest, const StatusAsk& message) {
  hall_.send(guest, StatusIs{message.request, answers_.status()});
}

// Not only of its own session: whoever is in the hall is the same person.
void ClientDesk::take(Guest& guest, const ReleaseAsk& message) {
  for (const LeaseId& lease : message.leases) driver_.tell(release_asked(lease, message));
  hall_.send(guest, release_rows(message, driver_.core()));
}

bool ClientDesk::speaks_for(Guest& guest, const SessionId& session) {
  if (session == guest.session) return true;
  refuse(guest, ErrorCode::kNotAuthenticated, "a client speaks for its own session only");
  return false;
}

void ClientDesk::refuse(Guest& guest, ErrorCode code, const std::string& text) {
  spdlog::warn("session={} refused: {}", guest.session.hex(), text);
  hall_.send(guest, Refused{Error{code, text, {}, {}}});
}

}  // namespace pounce::daemon
