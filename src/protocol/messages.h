// Every message of protocol version 2 as a struct (docs/protocol.md is the specification). A message is one JSON
// header frame, made from one of these by its table, and binary payload frames. Wire structs are separate from the
// core's events: the shells translate. Thread: any (values).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/ids.h"
#include "pounce/error.h"
#include "pounce/fields.h"
#include "protocol/client_messages.h"
#include "protocol/detached_messages.h"
#include "protocol/message_limits.h"
#include "protocol/queue_messages.h"
#include "protocol/task_messages.h"
#include "protocol/worker_messages.h"

namespace pounce::protocol {

// ---- handshake endpoint: the only message from an untrusted peer, and the two answers -----------------------------

enum class Role : std::uint8_t { kClient, kWorker };
constexpr auto words(Role) { return words_of<Role>({"client", "worker"}); }
// How the speaker proves that it belongs to the daemon's own user. kPeer: the kernel vouches on ipc://.
enum class Proof : std::uint8_t { kPeer, kMunge, kKeyFile };
constexpr auto words(Proof) { return words_of<Proof>({"peer", "munge", "key_file"}); }

struct Hello {
  static constexpr char kType[] = "hello";
  static constexpr About kAbout{"K, S, P → handshake endpoint", "proof",
                                "§4. `session` for role `client`, `lease` for role `worker`"};
  Role role = Role::kClient;
  Proof proof = Proof::kPeer;
  std::string key;
  std::string session;
  std::string lease;
  std::string version;

  static constexpr auto fields() {
    return table(field("role", &Hello::role), field("proof", &Hello::proof),
                 field("key", &Hello::key, "own public CURVE key, Z85: that of the connection"),
                 field("session", &Hello::session), field("lease", &Hello::lease),
                 field("version", &Hello::version, "pounce version, for the message of a mismatch"));
  }
};
struct Welcome {
  static constexpr char kType[] = "welcome";
  static constexpr About kAbout{"handshake endpoint → K, S, P", "", "the control channel admits this key now"};
  std::vector<std::string> control;
  std::string instance;
  std::uint32_t heartbeat_ms = 5000;

  static constexpr auto fields() {
    return table(field("control", &Welcome::control, "endpoints, the one to prefer first"),
                 field("instance", &Welcome::instance), field("heartbeat_ms", &Welcome::heartbeat_ms));
  }
};
struct Refused {
  static constexpr char kType[] = "refused";
  static constexpr About kAbout{
      "D, I → any", "",
      "the last message was not accepted. An interpreter that names an `object` does not take that one, for want of "
      "memory say: it passes over what still comes of it, and a task that needs it is answered that it is not there. "
      "All else goes on"};
  Error error;
  std::optional<ObjectId> object{};

  static constexpr auto fields() {
    return table(field("error", &Refused::error), field("object", &Refused::object).only_if_set());
  }
};

// ---- all of them --------------------------------------------------------------------------------------------------

using Header =
    std::variant<Hello, Welcome, Refused, OpenSession, Demand, CloseSession, Beat, Granted, LeaseStatus, WorkerDown,
                 LeaseEnded, RequestFailed, QueueAsk, QueueIs, ClassesAsk, ClassesIs, StatusAsk, StatusIs, ReleaseAsk,
                 ReleaseIs, SubmitDetached, DetachedAsk, CancelDetached, RelayDetached, DetachedList, Notice, WorkerUp,
                 InterpreterUp, InterpreterDown, WorkerBeat, WorkerGpus, Admit, Dismiss, EndWorker, RunDetached,
                 DetachedEnded, Ready, Activity, Walltime, YieldSteps, Attach, Attached, Several, Function, Object,
                 Serve, NotFetched, Chunk, Fetch, Have, Drop, Task, Started, Output, Outcome, Ack, Query, QueryIs,
                 Leaving, CancelTask, Input, Look>;

}  // namespace pounce::protocol
