// The rules of a class, from the table of Qos (pounce/qos.h): their keys and values in a policy file, and in words. A
// new limit is a member and a line of that table; the parser, `plan`, the schema and docs/policy.md follow from it.
// Pure. Thread: any.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "policy/amounts.h"
#include "policy/policy.h"
#include "policy/policy_keys.h"
#include "pounce/fields.h"

namespace pounce::policy {

// The key of a field, without its unit, which a file writes beside the number: "walltime_min" is "walltime".
constexpr std::string_view key_of(std::string_view field) {
  for (const std::string_view unit : {"_min", "_s"})
    if (field.ends_with(unit)) return field.substr(0, field.size() - unit.size());
  return field;
}

template <class T>
constexpr Form form_of() {
  if constexpr (requires { typename T::value_type; requires !std::same_as<T, std::string>; requires !std::same_as<T, std::vector<std::string>>; })
    return form_of<typename T::value_type>();  // the form of an optional's value
  else if constexpr (std::same_as<T, std::chrono::minutes>)
    return Form::kMinutes;
  else if constexpr (std::same_as<T, std::chrono::seconds>)
    return Form::kDuration;
  else if constexpr (std::same_as<T, Mib>)
    return Form::kMemory;
  else if constexpr (std::same_as<T, bool>)
    return Form::kFlag;
  else if constexpr (std::unsigned_integral<T>)
    return Form::kCount;
  else if constexpr (std::same_as<T, std::string>)
    return Form::kText;
  else
    return Form::kTexts;
}

inline std::string value_text(const std::string& text) { return text.empty() ? "none" : text; }
inline std::string value_text(bool flag) { return flag ? "true" : "false"; }
inline std::string value_text(std::unsigned_integral auto count) { return std::to_string(count); }
inline std::string value_text(std::chrono::seconds time) { return duration_text(time); }
inline std::string value_text(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return value_text(list);
}
template <class T>
std::string value_text(const std::optional<T>& limit) {
  return limit ? value_text(*limit) : "none";
}

}  // namespace pounce::policy
