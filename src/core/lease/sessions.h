// The clients that are here and what they want. Owns both, and the list of those that said goodbye: a late demand does
// not bring them back. Answers whether a lease is still needed. Thread: loop.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "core/lease/lease.h"
#include "core/lease/session.h"

namespace pounce::lease {

class Sessions {
 public:
  Session* find(const SessionId& id);
  bool here(const SessionId& id) const { return sessions_.contains(id); }
  bool said_goodbye(const SessionId& id) const;
  bool empty() const { return sessions_.empty(); }
  std::size_t size() const { return sessions_.size(); }

  Session& open(const SessionId& id);     // also one that said goodbye
  Session& at(const SessionId& id) { return sessions_[id]; }  // one that fell silent and was forgotten is back
  void say_goodbye(const SessionId& id);  // it is still here until it is forgotten
  void forget(const SessionId& id) { sessions_.erase(id); }
  void excuse_silence(Duration late);     // nobody could be heard meanwhile

  // What the lease serves; null: nobody, or a session that has not said yet what it wants.
  RequestState* request_of(const Lease& lease);
  const RequestState* request_of(const Lease& lease) const;
  // Its owner, and who holds it though another has taken it over (it came back later, after a restart of pounced).
  std::vector<Owner> concerned(const Lease& lease) const;
  void holds_no_more(const Owner& holder, const LeaseId& lease);  // it was told of the end
  // Its want has demand, or has not been heard yet after a restart.
  bool needed(const Lease& lease) const;

  auto begin() { return sessions_.begin(); }
  auto end() { return sessions_.end(); }
  auto begin() const { return sessions_.begin(); }
  auto end() const { return sessions_.end(); }

 private:
  std::map<SessionId, Session> sessions_;
  std::deque<SessionId> closed_;
};

}  // namespace pounce::lease
