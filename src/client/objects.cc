#include "client/objects.h"

#include <algorithm>
#include <utility>

namespace pounce::client {

std::uint64_t Object::total_bytes() const {
  std::uint64_t total = pickle.bytes.size();
  for (const Buffer& buffer : buffers) total += buffer.bytes.size();
  return total;
}

HolderNumber Objects::hold(const ObjectId& id, Object object) {
  std::vector<Copy>& copies = entries_[id].copies;
  std::erase_if(copies, [](const Copy& copy) { return copy.holder == 0; });
  copies.push_back({++last_, std::move(object)});
  return last_;
}

void Objects::release(const ObjectId& id, HolderNumber holder) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  std::vector<Copy>& copies = found->second.copies;
  const auto copy = std::ranges::find(copies, holder, &Copy::holder);
  if (copy == copies.end()) return;
  if (copies.size() > 1)
    copies.erase(copy);
  else
    copy->holder = 0;
  if (!found->second.is_held()) entries_.erase(found);
}

bool Objects::hold(const ObjectId& id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return false;
  ++found->second.tasks;
  return true;
}

void Objects::release(const ObjectId& id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  --found->second.tasks;
  if (!found->second.is_held()) entries_.erase(found);
}

const Object* Objects::find(const ObjectId& id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second.copies.front().object;
}

}  // namespace pounce::client
