// What the shell itself must remember beside the core: who said what about itself, so that the core's orders, which
// speak in ids, can be carried out. Plain data. Thread: loop.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "pounce/ids.h"
#include "pounce/resources.h"
#include "pounced/guests.h"
#include "pounced/usage_log.h"
#include "protocol/messages.h"

namespace pounce::daemon {

struct ClientFacts {
  protocol::OpenSession opened;
  std::map<WantId, Resources> wants;  // of its last demand
};

struct Interpreter {
  Epoch epoch;
  std::string endpoint, key;  // its data socket, its public key (Z85)
};

struct Books {
  Guests guests;
  std::map<SessionId, ClientFacts> clients;
  std::map<std::pair<LeaseId, WorkerIndex>, Interpreter> interpreters;
  UsageLog uses;
};

}  // namespace pounce::daemon
