// A policy file: one JSON document, comments allowed. Everything in it is checked, and each error names its place.
// Unknown keys are refused: a misspelt limit must not silently be none. Pure. Thread: any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.h"
#include "pounce/result.h"

namespace pounce::policy {

inline constexpr std::size_t kMostPolicyBytes = 1 << 20;  // of a file

Result<Policy> parse_policy(std::string_view text);  // kBadRequest
// A file with these QoS as classes, which parse_policy reads back unchanged.
std::string policy_text(const std::vector<Qos>& qos);

}  // namespace pounce::policy
