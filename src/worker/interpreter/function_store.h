// The functions that clients sent, by content hash. Several sessions may hold the same one; it is removed when the
// last one drops it, but a task that has arrived keeps its own. Thread: the leader token's holder.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "pounce/ids.h"

namespace pounce::worker {

// The content of a client's `function` message.
struct KeptFunction {
  std::shared_ptr<const std::string> bytes;  // its pickle, or a command line
  bool command = false;
};

class FunctionStore {
 public:
  // False: the id is not the digest of these bytes. Nothing is kept then, else one session's function could replace
  // another's.
  bool add(const SessionId& session, const FunctionId& id, std::string_view bytes, bool command);
  const KeptFunction* find(const FunctionId& id) const;  // null: not here
  void drop(const SessionId& session, const FunctionId& id);
  void drop_all(const SessionId& session);
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Value {
    KeptFunction function;
    std::set<SessionId> holders;
  };
  using Values = std::map<FunctionId, Value>;
  Values::iterator drop(const SessionId& session, Values::iterator value);  // returns the next one

  Values functions_;
  std::uint64_t bytes_ = 0;
};

}  // namespace pounce::worker
