// What each peer may be sent: an answer to what it asked, and news of its own session or lease. Nothing of another's.
// Thread: the test's.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/lease/lease_core.h"
#include "daemon_fuzzer/actor.h"

namespace pounce::daemon_fuzzer {

class Witness {
 public:
  void says(const Actor& client, const protocol::Header& header);  // what it names itself, it may hear of
  void sees(const std::vector<lease::LeaseView>& leases);

  // What is wrong with sending this to it; empty: nothing.
  std::string trouble_with(Actor& to, const std::string& frame, const std::vector<Actor>& all);

 private:
  std::string trouble_with_news(const Actor& client, const protocol::Header& header) const;
  std::string trouble_with_order(const Actor& worker, const protocol::Header& header) const;
  std::string trouble_with_text(const Actor& to, const protocol::Header& header, const std::string& frame,
                                const std::vector<Actor>& all) const;
  bool may_know(const SessionId& session, const LeaseId& lease) const;

  std::map<LeaseId, std::set<SessionId>> owners_;  // it ever had
  std::map<SessionId, std::set<LeaseId>> named_;
  std::map<SessionId, std::set<RequestId>> wanted_;
};

}  // namespace pounce::daemon_fuzzer
