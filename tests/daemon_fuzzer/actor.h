// One peer of a life, as the network knows it: a key, a connection, and whom it says it is. Plain data. Thread: the
// test's.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "base/curve_key.h"
#include "model/ids.h"
#include "protocol/messages.h"

namespace pounce::daemon_fuzzer {

struct Actor {
  protocol::Role role = protocol::Role::kClient;
  std::uint32_t number = 0;
  std::uint32_t life = 1, connection = 1;
  bool cut = false;       // nothing can be sent to it
  bool stranger = false;  // it cannot prove who it is
  SessionId session;      // of a client
  LeaseId lease;          // of a worker, and what follows
  WorkerIndex worker;
  JobIdentity job;
  Epoch epoch;
  std::uint32_t asks = 0;  // how much a client wants
  std::multiset<std::pair<std::string, std::uint32_t>>
      questions{};  // that have no answer yet: what the answer is called

  PublicKey key() const {
    PublicKey key;
    key.bytes[0] = static_cast<std::uint8_t>(number), key.bytes[1] = static_cast<std::uint8_t>(life), key.bytes[2] = 1;
    return key;
  }
  std::string route() const {
    return std::to_string(number) + "." + std::to_string(life) + "." + std::to_string(connection);
  }
  std::string secret() const { return "secret-of-" + session.hex(); }  // in its environment, which nobody is shown
  std::string place() const { return "place-of-" + session.hex(); }    // in its directory, which the status shows
};

inline std::string told_by(const LeaseId& lease) { return "told-by-" + lease.hex(); }

}  // namespace pounce::daemon_fuzzer
