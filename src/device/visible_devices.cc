#include "device/visible_devices.h"

#include <map>
#include <set>

namespace pounce::device {
namespace {

// CUDA reports the 16 bytes only (gotchas G3).
std::string bare_uuid(const std::string& uuid) {
  std::string bare = uuid.starts_with("GPU-") || uuid.starts_with("MIG-") ? uuid.substr(4) : uuid;
  for (char& letter : bare)
    if (letter >= 'A' && letter <= 'F') letter = static_cast<char>(letter - 'A' + 'a');
  return bare;
}

// The members of `some` that are not among `others`, as they were named.
std::string without(const std::vector<std::string>& some, const std::vector<std::string>& others) {
  std::set<std::string> known;
  for (const std::string& uuid : others) known.insert(bare_uuid(uuid));
  std::string words;
  for (const std::string& uuid : some)
    if (!known.contains(bare_uuid(uuid))) words += (words.empty() ? "" : ", ") + uuid;
  return words;
}

}  // namespace

Result<void> only_leased(const std::vector<std::string>& visible, const std::vector<std::string>& leased) {
  const std::string foreign = without(visible, leased), absent = without(leased, visible);
  if (foreign.empty() && absent.empty()) return {};
  std::string text = "the GPUs that this worker sees are not those of its lease:";
  if (!foreign.empty()) text += " " + foreign + (absent.empty() ? " is not in it" : " is not in it,");
  if (!absent.empty()) text += " " + absent + " is not seen";
  Error error{ErrorCode::kDeviceUnavailable,
              text,
              "Submit again, and show the admin this node: its devices are not kept apart.",
              {}};
  if (!foreign.empty()) error.context["foreign"] = foreign;
  if (!absent.empty()) error.context["absent"] = absent;
  return failure(error);
}

Result<void> one_rank_each(const std::vector<std::string>& of_ranks) {
  std::map<std::string, std::size_t> first;
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    const auto [at, fresh] = first.emplace(bare_uuid(of_ranks[rank]), rank);
    if (!fresh)
      return failure(ErrorCode::kBadRequest,
                     "ranks " + std::to_string(at->second) + " and " + std::to_string(rank) +
                         " would use one device, " + of_ranks[rank],
                     "Ask for a GPU for each worker: gpus=1.");
  }
  return {};
}

}  // namespace pounce::device
