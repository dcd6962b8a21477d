#include "memory/room.h"

#include <algorithm>
#include <string>

namespace pounce::memory {
namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;
constexpr std::uint64_t kBesides = 32 * kMiB;  // the receiver itself takes some too: pieces that are under way

std::string words(std::uint64_t bytes) { return std::to_string(bytes / kMiB) + " MiB"; }

}  // namespace

Result<void> fits(std::uint64_t size, std::uint64_t promised, const RoomFor& room_for) {
  const std::uint64_t others = promised + kBesides;
  const auto room = room_for ? room_for(size + others) : std::nullopt;
  if (!room || size + others <= room->left) return {};
  auto refused = Error{ErrorCode::kOutOfMemory,
                       "an object of " + words(size) + " does not fit into this job's memory: of " + words(room->limit) + " there are " +
                           words(room->left - std::min(room->left, others)) + " left for it",
                       {}, {}};
  refused.context["memory_limit_mib"] = std::to_string(room->limit / kMiB);
  return failure(std::move(refused));
}

}  // namespace pounce::memory
