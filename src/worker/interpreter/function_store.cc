#include "worker/interpreter/function_store.h"

#include <iterator>
#include <span>

#include "identity/content_digest.h"

namespace pounce::worker {

bool FunctionStore::add(const SessionId& session, const FunctionId& id, std::string_view bytes, bool command) {
  if (id != FunctionId(identity::content_digest(std::as_bytes(std::span(bytes))))) return false;
  Value& value = functions_[id];
  value.holders.insert(session);
  if (value.function.bytes) return true;
  value.function = {std::make_shared<const std::string>(bytes), command};
  bytes_ += bytes.size();
  return true;
}

const KeptFunction* FunctionStore::find(const FunctionId& id) const {
  const auto found = functions_.find(id);
  return found == functions_.end() ? nullptr : &found->second.function;
}

void FunctionStore::drop(const SessionId& session, const FunctionId& id) {
  if (const auto found = functions_.find(id); found != functions_.end()) drop(session, found);
}

void FunctionStore::drop_all(const SessionId& session) {
  for (auto one = functions_.begin(); one != functions_.end();) one = drop(session, one);
}

FunctionStore::Values::iterator FunctionStore::drop(const SessionId& session, Values::iterator value) {
  value->second.holders.erase(session);
  if (!value->second.holders.empty()) return std::next(value);
  bytes_ -= value->second.function.bytes->size();
  return functions_.erase(value);
}

}  // namespace pounce::worker
