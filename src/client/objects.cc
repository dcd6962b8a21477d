#include "client/objects.h"

#include <algorithm>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <utility>

#include "identity/content_digest.h"
#include "memory/cgroup.h"

namespace pounce::client {
namespace {

std::mutex sharable_mutex;                                         // guards the next
std::map<const std::byte*, std::weak_ptr<memory::View>> sharable;  // by where they begin

}  // namespace

// Never destroyed: a thread may still send when main() has returned.
memory::BlockPool& blocks_for_workers() {
  static auto* const pool = new memory::BlockPool(memory::memory_to_keep(), {}, memory::free_memory);
  return *pool;
}

std::shared_ptr<memory::View> sharable_memory(std::size_t size) {
  auto block = memory::MemoryBlock::make(std::max<std::size_t>(size, 1));
  if (!block) return nullptr;
  auto view = memory::View::map(std::move(*block), std::max<std::size_t>(size, 1), memory::Sharing::kShared);
  if (!view) return nullptr;
  const std::scoped_lock lock(sharable_mutex);
  std::erase_if(sharable, [](const auto& entry) { return entry.second.expired(); });
  sharable[(*view)->bytes().data()] = *view;
  return *view;
}

std::shared_ptr<memory::View> sharable_memory_of(std::span<const std::byte> bytes) {
  const std::scoped_lock lock(sharable_mutex);
  auto next = sharable.upper_bound(bytes.data());
  if (next == sharable.begin()) return nullptr;
  const auto view = std::prev(next)->second.lock();
  const bool inside = view && bytes.data() + bytes.size() <= view->bytes().data() + view->bytes().size();
  return inside ? view : nullptr;
}

WritableBytes to_memory(transport::Frame frame) {
  auto owner = std::make_shared<transport::Frame>(std::move(frame));
  const auto bytes = owner->writable();
  return {bytes, std::move(owner)};
}

namespace {

constexpr std::size_t kDigestedAlone = 8 * 1024 * 1024;  // each of these has a digest of its own, for several threads

// The digests of its pieces, one after the other.
std::vector<identity::ContentDigest> digests_of_pieces(std::span<const std::byte> bytes) {
  std::vector<identity::ContentDigest> digests((bytes.size() + kDigestedAlone - 1) / kDigestedAlone);
  memory::in_parts(bytes.size(), [&](std::size_t begin, std::size_t size) {
    for (std::size_t i = (begin + kDigestedAlone - 1) / kDigestedAlone; i * kDigestedAlone < begin + size; ++i) {
      const auto rest = bytes.subspan(i * kDigestedAlone);
      digests[i] = identity::content_digest(rest.first(std::min(rest.size(), kDigestedAlone)));
    }
    return true;
  });
  return digests;
}

}  // namespace

ObjectId digest_object(const Bytes& pickle, std::span<const Bytes> buffers) {
  std::vector<std::span<const std::byte>> parts{pickle.bytes};
  std::list<std::vector<identity::ContentDigest>> digests;
  for (const Bytes& buffer : buffers)
    if (buffer.size() > 2 * kDigestedAlone)
      parts.push_back(std::as_bytes(std::span(digests.emplace_back(digests_of_pieces(buffer.bytes)))));
    else
      parts.push_back(buffer.bytes);
  return ObjectId(identity::content_digest(parts));
}

std::uint64_t Object::total_bytes() const {
  std::uint64_t total = pickle.bytes.size();
  for (const Bytes& buffer : buffers) total += buffer.bytes.size();
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
