#include "device/memory_ledger.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/check.h"

namespace pounce::device {
namespace {

constexpr std::size_t kShownHolders = 4;  // in the sentence; the context has all

std::string size_words(std::uint64_t bytes) {
  constexpr std::uint64_t kMebi = 1024 * 1024, kGibi = 1024 * kMebi;
  char text[32];
  if (bytes < kMebi) return std::to_string(bytes) + " bytes";
  const bool large = bytes >= kGibi;
  std::snprintf(text, sizeof text, "%.1f %s", static_cast<double>(bytes) / static_cast<double>(large ? kGibi : kMebi),
                large ? "GiB" : "MiB");
  return text;
}

using Holder = std::pair<std::string, std::uint64_t>;

std::vector<Holder> largest_first(const MemoryUse& use) {
  std::vector<Holder> all(use.holders.begin(), use.holders.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const Holder& one, const Holder& other) { return one.second > other.second; });
  return all;
}

std::string shown(const std::vector<Holder>& holders, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, holders.size()); ++i)
    text += (i > 0 ? ", " : "") + holders[i].first + " " + size_words(holders[i].second);
  if (holders.size() > most) text += " and " + std::to_string(holders.size() - most) + " more";
  return text;
}

}  // namespace

void MemoryLedger::add(const std::string& holder, std::uint64_t bytes) {
  use_.holders[holder] += bytes;
  use_.bytes += bytes;
  use_.most_bytes = std::max(use_.most_bytes, use_.bytes);
}

void MemoryLedger::remove(const std::string& holder, std::uint64_t bytes) {
  const auto found = use_.holders.find(holder);
  POUNCE_CHECK(found != use_.holders.end() && found->second >= bytes, "memory is given back by who has it");
  found->second -= bytes;
  if (found->second == 0) use_.holders.erase(found);
  use_.bytes -= bytes;
}

Error out_of_device_memory(std::uint64_t wanted_bytes, const MemoryUse& use, std::optional<MemoryRoom> room) {
  const auto holders = largest_first(use);
  std::string text = "the device has no room for " + size_words(wanted_bytes);
  if (room) text += ": " + size_words(room->free_bytes) + " of " + size_words(room->total_bytes) + " are free";
  text += "; pounce holds " + size_words(use.bytes) + " (" + size_words(use.most_bytes) + " at most)";
  if (!holders.empty()) text += ": " + shown(holders, kShownHolders);
  Error error{ErrorCode::kOutOfMemory, text, "Drop what is kept on the device, or ask for a GPU with more memory.", {}};
  error.context = {{"asked_bytes", std::to_string(wanted_bytes)},
                   {"held_bytes", std::to_string(use.bytes)},
                   {"most_bytes", std::to_string(use.most_bytes)},
                   {"holders", shown(holders, holders.size())}};
  if (room)
    error.context["free_bytes"] = std::to_string(room->free_bytes),
    error.context["total_bytes"] = std::to_string(room->total_bytes);
  return error;
}

}  // namespace pounce::device
