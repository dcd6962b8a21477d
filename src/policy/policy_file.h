// A policy file: one JSON document, comments allowed. Everything in it is checked, each complaint names its place, and
// an unknown key is refused: a misspelt limit must not silently be none. Pure. Thread: any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/policy.h"
#include "pounce/result.h"

namespace pounce::policy {

// What is wrong with a policy, as an error.
inline tl::unexpected<Error> bad(std::string text) { return failure(ErrorCode::kBadRequest, std::move(text)); }

// The names in a policy that must exist: classes in preempts and fallbacks, options of sbatch, placeholders.

// Checks them, and replaces the classes that a class preempts by their QoS, sorted.
Result<void> resolve(Policy& policy);

inline constexpr std::size_t kMostPolicyBytes = 1 << 20;  // of a file

Result<Policy> parse_policy(std::string_view text);  // kBadRequest
// A file with these QoS as classes, which parse_policy reads back unchanged.
std::string policy_text(const std::vector<Qos>& qos);

}  // namespace pounce::policy
