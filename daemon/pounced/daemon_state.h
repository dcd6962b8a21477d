// What the daemon itself must remember beside the core: who said what about itself, so that the core's orders, which
// speak in ids, can be carried out. Plain data. Thread: loop.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "pounce/ids.h"
#include "pounce/resources.h"
#include "pounced/leases/avoided_nodes.h"
#include "pounced/leases/utilisation_log.h"
#include "pounced/net/peers.h"
#include "protocol/messages.h"

namespace pounce::daemon {

struct ClientFacts {
  protocol::OpenSession opened;
  std::map<RequestId, Resources> requests;  // of its last demand
  bool detached = false;                    // a task with a name: whoever submitted it may have gone
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
