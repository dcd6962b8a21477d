// State that the daemon keeps beside the core: what each peer reported about itself. The core's orders name peers by
// id only; this state lets the daemon carry them out. Plain data. Thread: loop.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "model/ids.h"
#include "pounce/resources.h"
#include "pounced/leases/lease_logs.h"
#include "pounced/leases/nodes.h"
#include "pounced/net/peers.h"
#include "protocol/messages.h"

namespace pounce::daemon {

struct ClientFacts {
  protocol::OpenSession opened;
  std::map<RequestId, Resources> requests;  // of its last demand
  bool detached = false;                    // a task with a name; its client may have gone
};

struct Interpreter {
  Epoch epoch;
  std::string endpoint, key;  // its data socket, its public key (Z85)
};

struct DaemonState {
  Peers peers;
  std::map<SessionId, ClientFacts> clients;
  std::map<std::pair<LeaseId, WorkerIndex>, Interpreter> interpreters;
  UtilisationLog uses;
  AvoidedNodes avoided;
};

}  // namespace pounce::daemon
