// All leases. Owns the map, in the order of their ids, and the list of those that ended: they stay for a while, for
// their histories and to know late jobs again. What a lease holds is plain data (lease.h): each rule writes the fields
// of its own subject, and a change of state goes through Transitions. Thread: loop.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "core/lease/lease.h"

namespace pounce::lease {

class LeaseTable {
 public:
  Lease* find(const LeaseId& id);
  const Lease* find(const LeaseId& id) const;
  Lease* of(const Owner& owner);
  // The one whose job that is. By the tag where the view has one: a job id alone may be another job's by now.
  Lease* of_job(const JobView& view);
  bool any_live() const;

  Lease& add(Lease lease);  // the one that is there, where its id is known
  void ended(const LeaseId& id) { ended_.push_back(id); }
  void forget_oldest();  // of the ended ones, down to as many as are kept

  const std::deque<LeaseId>& ended() const { return ended_; }  // oldest first
  auto begin() { return leases_.begin(); }
  auto end() { return leases_.end(); }
  auto begin() const { return leases_.begin(); }
  auto end() const { return leases_.end(); }

 private:
  std::map<LeaseId, Lease> leases_;
  std::deque<LeaseId> ended_;
};

}  // namespace pounce::lease
