#include "worker/interpreter/object_store.h"

#include <cstring>
#include <iterator>

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

namespace {

// Far above any node's memory; keeps sums from wrapping.
constexpr std::uint64_t kLargestObject = std::uint64_t{1} << 40;

}  // namespace

Result<void> ObjectStore::Value::into(const std::shared_ptr<memory::MemoryBlock>& block,
                                      const std::shared_ptr<std::string>& plain, std::uint64_t offset,
                                      std::span<const std::byte> bytes) {
  if (block) return block->write(offset, bytes);
  if (plain) std::memcpy(plain->data() + offset, bytes.data(), bytes.size());
  return {};
}

Result<ObjectStore::Value> ObjectStore::lay_out(ObjectOffer offer) const {
  if (offer.pickle_follows && offer.sizes.empty())
    return failure(ErrorCode::kProtocol, "object " + offer.object.hex() + " was announced without its pickle's size");
  Value value;
  value.pickle = std::make_shared<std::string>(std::move(offer.pickle));
  value.pickle_follows = offer.pickle_follows;
  value.sizes = std::move(offer.sizes);
  value.placement = std::move(offer.placement);
  if (!offer.places.empty()) return placed(std::move(value), offer);
  for (const std::uint64_t size : value.sizes) {
    value.offsets.push_back(value.bytes);
    if (size > kLargestObject || value.bytes > kLargestObject)
      return failure(ErrorCode::kTooLarge, "object " + offer.object.hex() + " was announced with impossible sizes");
    value.bytes += memory::aligned(size);
  }
  return value;
}

// Takes the layout of the sender.
Result<ObjectStore::Value> ObjectStore::placed(Value value, const ObjectOffer& offer) {
  const std::uint64_t room = offer.block ? offer.block->capacity() : 0;
  if (room == 0 || !memory::lie_within(room, value.sizes, offer.places))
    return failure(ErrorCode::kProtocol,
                   "object " + offer.object.hex() + " does not lie in the memory that came with it");
  value.offsets = offer.places;
  value.bytes = room;
  return value;
}

Result<void> ObjectStore::find_memory(Value& value) {
  if (value.bytes < kPlainBytes) {
    value.plain = std::make_shared<std::string>(value.bytes, '\0');
    return {};
  }
  auto block = pool_.take(value.bytes);
  if (!block) return failure(std::move(block.error()));
  value.block = std::move(*block);
  return {};
}

std::uint64_t ObjectStore::promised() const {
  std::uint64_t bytes = 0;
  for (const auto& [key, incoming] : incoming_)
    if (incoming.value.block) bytes += incoming.value.block->untouched();
  return bytes;
}

Result<ObjectStore::Receipt> ObjectStore::announce(const SessionId& session, ObjectOffer offer) {
  const Key key{session, offer.object};
  const auto block = offer.block;
  const bool in_place = !offer.places.empty(), fetched = offer.fetched;
  const bool straight_to_device = offer.placement && fetched && !offer.pickle_follows;
  auto value = lay_out(std::move(offer));
  const auto begun = incoming_.find(key);
  if (value && fetched && begun != incoming_.end() && begun->second.value.sizes == value->sizes) return Receipt::kMore;
  refused_.insert(key);  // until the announcement is accepted
  placing_.erase(key);
  // A repeated announcement starts again or is refused: no half object stays, and its memory is free for the next
  // one.
  incoming_.erase(key);
  if (!value) return failure(std::move(value.error()));
  const auto known = objects_.find(key.second);
  if (known != objects_.end()) {
    known->second.holders.insert(session);  // the sender could not know that it is here: its chunks follow all the same
    value->placement.reset();
  } else if (in_place)
    value->block = block;
  else if (!straight_to_device)
    if (auto memory = find_memory(*value); !memory) return failure(std::move(memory.error()));
  refused_.erase(key);
  Incoming& incoming = incoming_[key] = Incoming{std::move(*value)};
  if (in_place || (fetched && known != objects_.end()))
    incoming.came_whole();
  else
    incoming.skip_full();
  return settle(key);
}

void ObjectStore::Incoming::skip_full() {
  at.skip_full(value.sizes.size(), [this](std::size_t i) { return value.sizes[i]; });
}

Result<ObjectStore::Receipt> ObjectStore::chunk(const SessionId& session, const ObjectId& object, Position at,
                                                std::span<const std::byte> bytes) {
  const Key key{session, object};
  const auto found = incoming_.find(key);
  // The sender did not know of the refusal yet.
  if (found == incoming_.end() && refused_.contains(key)) return Receipt::kMore;
  if (found == incoming_.end())
    return failure(ErrorCode::kProtocol, "a chunk of object " + object.hex() + " came without its announcement");
  Incoming& incoming = found->second;
  if (at != incoming.at || bytes.size() > incoming.value.sizes[at.buffer] - at.offset) {
    refuse(found);
    return failure(ErrorCode::kProtocol, "the chunks of object " + object.hex() + " do not follow each other");
  }
  if (auto written = incoming.value.write(incoming.value.offsets[at.buffer] + at.offset, bytes); !written) {
    refuse(found);
    return failure(std::move(written.error()));
  }
  incoming.at.offset += bytes.size();
  incoming.skip_full();
  return settle(key);
}

void ObjectStore::refuse(std::map<Key, Incoming>::iterator incoming) {
  refused_.insert(incoming->first);
  incoming_.erase(incoming);
}

ObjectStore::Receipt ObjectStore::settle(const Key& key) {
  const auto found = incoming_.find(key);
  if (!found->second.whole()) return Receipt::kMore;
  Value& value = found->second.value;
  const auto known = objects_.find(key.second);
  if (known == objects_.end() && value.placement) {
    placing_[key] = std::move(value);
    incoming_.erase(found);
    return Receipt::kToPlace;
  }
  Value& kept = known != objects_.end() ? known->second : objects_[key.second] = std::move(value);
  kept.holders.insert(key.first);
  incoming_.erase(found);
  return Receipt::kWhole;
}

Result<ObjectStore::Landed> ObjectStore::landed(const SessionId& session, const ObjectId& object) const {
  const Value& value = placing_.at(Key{session, object});
  if (!value.block && !value.plain) return Landed{value.placement, {}};
  return lent(value).map([&](std::vector<WritableBytes> parts) {
    if (value.pickle_follows) parts.erase(parts.begin());
    return Landed{value.placement, std::move(parts)};
  });
}

Result<ObjectStore::Receipt> ObjectStore::placed(const SessionId& session, const ObjectId& object,
                                                 const device::Placement* placement, Result<device::Buffers> buffers) {
  const Key key{session, object};
  const auto found = placing_.find(key);
  if (found == placing_.end() || found->second.placement.get() != placement) return Receipt::kMore;
  Value value = std::move(found->second);
  placing_.erase(found);
  if (!buffers) return failure(std::move(buffers.error()));
  if (value.pickle_follows) {
    const auto parts = lent(value);
    if (!parts) return failure(parts.error());
    const auto pickle = parts->front().bytes;
    value.pickle = std::make_shared<std::string>(reinterpret_cast<const char*>(pickle.data()), pickle.size());
  }
  value.block.reset();
  value.plain.reset();
  value.placement.reset();
  value.on_device = std::move(*buffers);
  objects_.try_emplace(object, std::move(value)).first->second.holders.insert(session);
  return Receipt::kWhole;
}

// The fetch owns the memory, so it stays valid even if the object is dropped meanwhile.
std::optional<ObjectStore::Rest> ObjectStore::rest(const SessionId& session, const ObjectId& object) const {
  const auto found = incoming_.find(Key{session, object});
  if (found == incoming_.end() || found->second.whole()) return std::nullopt;
  const Incoming& incoming = found->second;
  Rest rest{{}, incoming.at};
  for (std::size_t i = 0; i < incoming.value.sizes.size(); ++i) rest.targets.push_back(incoming.value.target(i));
  return rest;
}

bulk::Target ObjectStore::Value::target(std::size_t part) const {
  bulk::Target target{sizes[part]};
  const std::uint64_t begin = offsets[part];
  if (!block && !plain && placement)
    target.write = [to = placement, part](std::uint64_t offset, std::span<const std::byte> bytes) {
      return to->write(part, offset, bytes);
    };
  else
    target.write = [block = block, plain = plain, begin](std::uint64_t offset, std::span<const std::byte> bytes) {
      return into(block, plain, begin + offset, bytes);
    };
  if (block) target.place_at = memory::places_in(block, begin);
  return target;
}

void ObjectStore::came_to(const SessionId& session, const ObjectId& object, Position position) {
  const auto found = incoming_.find(Key{session, object});
  if (found == incoming_.end() || position.buffer >= found->second.value.sizes.size()) return;
  found->second.at = position;
  found->second.skip_full();
}

ObjectStore::Receipt ObjectStore::came_whole(const SessionId& session, const ObjectId& object) {
  const Key key{session, object};
  const auto found = incoming_.find(key);
  if (found == incoming_.end()) return Receipt::kMore;
  found->second.came_whole();
  return settle(key);
}

std::vector<ObjectStore::Progress> ObjectStore::progress(const SessionId& session) const {
  std::vector<Progress> all;
  for (const auto& [key, incoming] : incoming_)
    if (key.first == session) all.push_back({key.second, incoming.at});
  return all;
}

bool ObjectStore::holds(const SessionId& session, const ObjectId& object) const {
  const auto found = objects_.find(object);
  return found != objects_.end() && found->second.holders.contains(session);
}

void ObjectStore::drop(const SessionId& session, const ObjectId& object) {
  incoming_.erase(Key{session, object});
  refused_.erase(Key{session, object});
  placing_.erase(Key{session, object});
  const auto found = objects_.find(object);
  if (found == objects_.end()) return;
  found->second.holders.erase(session);
  if (found->second.holders.empty()) objects_.erase(found);
}

void ObjectStore::drop_all(const SessionId& session) {
  std::erase_if(incoming_, [&](const auto& entry) { return entry.first.first == session; });
  std::erase_if(refused_, [&](const Key& key) { return key.first == session; });
  std::erase_if(placing_, [&](const auto& entry) { return entry.first.first == session; });
  for (auto it = objects_.begin(); it != objects_.end();) {
    it->second.holders.erase(session);
    it = it->second.holders.empty() ? objects_.erase(it) : std::next(it);
  }
}

std::vector<Bytes> ObjectStore::parts(const SessionId& session, const ObjectId& object) const {
  if (!holds(session, object)) return {};
  const Value& value = objects_.at(object);
  if (!value.block) return {};  // smaller objects use no lane
  const auto view = memory::View::map(value.block, value.bytes, memory::Sharing::kPrivate);
  if (!view) return {};
  std::vector<Bytes> parts;
  for (std::size_t i = 0; i < value.sizes.size(); ++i)
    parts.push_back({(*view)->bytes().subspan(value.offsets[i], value.sizes[i]), *view});
  return parts;
}

std::optional<ObjectOffer> ObjectStore::lying(const SessionId& session, const ObjectId& object) const {
  if (!holds(session, object)) return std::nullopt;
  const Value& value = objects_.at(object);
  if (!value.block) return std::nullopt;
  return ObjectOffer{object, *value.pickle, value.sizes, value.pickle_follows, value.block, value.offsets};
}

Result<ObjectUse> ObjectStore::use(const ObjectId& object) const {
  const auto found = objects_.find(object);
  if (found == objects_.end())
    return failure(ErrorCode::kProtocol, "object " + object.hex() + " is not on this worker");
  const Value& value = found->second;
  ObjectUse use{{std::as_writable_bytes(std::span(*value.pickle)), value.pickle}, {}, value.on_device};
  if (value.on_device) return use;
  auto parts = lent(value);
  if (!parts) return failure(std::move(parts.error()));
  use.buffers = std::move(*parts);
  if (value.pickle_follows) {
    use.pickle = use.buffers.front();
    use.buffers.erase(use.buffers.begin());
  }
  return use;
}

Result<std::vector<WritableBytes>> ObjectStore::lent(const Value& value) {
  WritableBytes whole;
  if (value.block) {
    auto view = value.view.lend(value.block, value.bytes);
    if (!view) return failure(std::move(view.error()));
    whole = {(*view)->bytes(), *view};
  } else {
    auto copy = std::make_shared<std::string>(*value.plain);
    whole = {std::as_writable_bytes(std::span(*copy)), copy};
  }
  std::vector<WritableBytes> parts;
  for (std::size_t i = 0; i < value.sizes.size(); ++i)
    parts.push_back({whole.bytes.subspan(value.offsets[i], value.sizes[i]), whole.keep});
  return parts;
}

}  // namespace pounce::worker
