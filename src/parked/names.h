// The names that the folder of saved states and a state in it may contain. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace pounce::parked {

bool is_id(std::string_view name);                                     // a state's id: 16 hex digits
std::optional<std::uint64_t> epoch_of_manifest(std::string_view name);  // manifest-<epoch>.json
bool is_owner(std::string_view name);                                  // owner-<epoch>

// Calls `take` with each name in an open folder until it returns false, at most `most` times. True: those were all
// names.
bool for_each_name(int folder, std::size_t most, const std::function<bool(const std::string&)>& take);

}  // namespace pounce::parked
