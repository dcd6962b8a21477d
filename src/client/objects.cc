#include "client/objects.h"

namespace pounce::client {

std::uint64_t Object::total_bytes() const {
  std::uint64_t total = pickle.bytes.size();
  for (const Buffer& buffer : buffers) total += buffer.bytes.size();
  return total;
}

void Objects::hold(const ObjectId& id, Object object) {
  Entry& entry = entries_[id];
  if (entry.holders++ == 0) entry.object = std::move(object);
}

bool Objects::hold(const ObjectId& id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return false;
  ++found->second.holders;
  return true;
}

void Objects::release(const ObjectId& id) {
  const auto found = entries_.find(id);
  if (found != entries_.end() && --found->second.holders == 0) entries_.erase(found);
}

const Object* Objects::find(const ObjectId& id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second.object;
}

}  // namespace pounce::client
