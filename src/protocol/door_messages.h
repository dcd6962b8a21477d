// What is said at the door (docs/protocol.md). Part of messages.h. Thread: any (values).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pounce/error.h"

namespace pounce::protocol {

// ---- door: the only thing a stranger may say, and the two answers ---------------------------------------------

enum class Role : std::uint8_t { kClient, kWorker };
// How the speaker shows that it is the daemon's own user (design §5). kPeer: the kernel vouches on ipc://.
enum class Proof : std::uint8_t { kPeer, kMunge, kKeyFile };

struct Hello {  // client or supervisor -> door; payload: [proof bytes] (empty frame for kPeer)
  static constexpr char kType[] = "hello";
  Role role = Role::kClient;
  Proof proof = Proof::kPeer;
  std::string key;        // own public CURVE key, Z85; must be the key of the connection
  std::string session;    // role client: SessionId hex
  std::string lease;      // role worker: LeaseId hex
  std::string version;    // pounce version, for the message of a mismatch
};
struct Welcome {  // door -> speaker: the hall now admits your key
  static constexpr char kType[] = "welcome";
  std::vector<std::string> hall;  // endpoints, the one to prefer first
  std::string instance;
  std::uint32_t heartbeat_ms = 5000;
};
struct Refused {  // door or worker -> speaker
  static constexpr char kType[] = "refused";
  Error error;
};

}  // namespace pounce::protocol
