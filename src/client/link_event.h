// What a connection to a worker tells its owner. Thread: any (values).
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "client/incoming.h"
#include "pounce/error.h"
#include "pounce/ids.h"
#include "pounce/result.h"
#include "protocol/messages.h"

namespace pounce::client {

struct LinkAttached {
  protocol::Attached who;
};
struct LinkLost {};
struct LinkSilent {};  // it stands, but nothing has come for a while
struct LinkSeen {};   // something came after a LinkSilent
struct LinkRefused {  // for good: versions that do not match
  Error error;
};
struct ObjectRefused {  // only this one, for example for lack of memory
  ObjectId object;
  Error error;
};
struct TaskPrinted {
  TaskId task;
  std::string stream;
  std::string text;
  std::vector<std::string> buffers;  // of a "message"
};
struct OutcomeWhole {
  Result<Incoming> incoming;
  TaskId task;
  std::int64_t received_ns = 0;
};
using LinkEvent = std::variant<LinkAttached, LinkLost, LinkSilent, LinkSeen, LinkRefused, ObjectRefused, TaskPrinted, OutcomeWhole,
                               protocol::Started, protocol::QueryIs, protocol::Leaving, protocol::Have, protocol::Serve,
                               protocol::NotFetched>;

}  // namespace pounce::client
