#include "core/lease/sessions.h"

#include <algorithm>
#include <utility>

namespace pounce::lease {
namespace {
constexpr std::size_t kClosedKept = 256;
}

Session* Sessions::find(const SessionId& id) {
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : &found->second;
}

bool Sessions::said_goodbye(const SessionId& id) const { return std::ranges::find(closed_, id) != closed_.end(); }

Session& Sessions::open(const SessionId& id) {
  std::erase(closed_, id);
  return sessions_[id];
}

void Sessions::say_goodbye(const SessionId& id) {
  closed_.push_back(id);
  if (closed_.size() > kClosedKept) closed_.pop_front();
}

void Sessions::excuse_silence(Duration late) {
  for (auto& [id, session] : sessions_) session.last_seen += late;
}

const RequestState* Sessions::request_of(const Lease& lease) const {
  if (!lease.owner) return nullptr;
  const auto session = sessions_.find(lease.owner->session);
  if (session == sessions_.end()) return nullptr;
  const auto request = session->second.requests.find(lease.owner->request);
  return request == session->second.requests.end() ? nullptr : &request->second;
}

RequestState* Sessions::request_of(const Lease& lease) { return const_cast<RequestState*>(std::as_const(*this).request_of(lease)); }

std::vector<Owner> Sessions::concerned(const Lease& lease) const {
  std::vector<Owner> all;
  if (lease.owner) all.push_back(*lease.owner);
  for (const auto& [session, record] : sessions_)
    for (const auto& [request, entry] : record.requests) {
      const Owner holder{session, request};
      if (lease.owner != holder && std::ranges::count(entry.request.holds, lease.id) > 0) all.push_back(holder);
    }
  return all;
}

void Sessions::holds_no_more(const Owner& holder, const LeaseId& lease) {
  const auto session = sessions_.find(holder.session);
  if (session == sessions_.end()) return;
  if (const auto request = session->second.requests.find(holder.request); request != session->second.requests.end())
    std::erase(request->second.request.holds, lease);
}

bool Sessions::needed(const Lease& lease) const {
  if (!lease.owner) return false;
  const auto session = sessions_.find(lease.owner->session);
  if (session == sessions_.end()) return false;
  if (session->second.awaited_until) return true;
  const RequestState* record = request_of(lease);
  return record != nullptr && record->demanded();
}

}  // namespace pounce::lease
