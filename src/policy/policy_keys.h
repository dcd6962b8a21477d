// How a policy file is written: its amounts, its keys, and the rules of a class. Pure. Thread: any.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/policy.h"
#include "pounce/fields.h"

namespace pounce::policy {

// Times, memory and ports as a policy file writes them.
std::optional<std::chrono::seconds> duration_from(std::string_view text);  // "90s", "7d", "1-12:00:00"
std::optional<std::chrono::minutes> minutes_from(std::string_view text);   // whole minutes only; also "90"
std::string duration_text(std::chrono::seconds time);                      // in its largest whole unit
std::string memory_text(std::uint64_t mib);                                // "40GB", "512MB"
std::optional<std::uint32_t> cuda_from(std::string_view text);             // "12.4" -> 12040, as CUDA counts
std::string cuda_text(std::uint32_t cuda);
std::optional<std::uint64_t> mib_from(std::string_view text);                              // "512MB", "40GB"
std::optional<std::pair<std::uint16_t, std::uint16_t>> ports_from(std::string_view text);  // "50000-50999"

// Every key that a policy file may have: the one table that the parser, docs/policy.md and docs/policy.schema.json are
// held to. A path's "*" is a name that the site chooses.
enum class Form {
  kObject,    // its keys have their own rows
  kDuration,  // "30min"
  kMinutes,   // a duration of whole minutes
  kCount,     // 20
  kFlag,      // true
  kText,      // "bigcats"
  kTexts,     // ["long", "short"]
  kMemory,    // "40GB"
  kPorts,     // "50000-50999"
  kVersion,   // "12.4"
};

enum class Reader { kSlurm, kPounced, kEditors };  // plan and apply; pounced; editors only

struct Key {
  std::string path;
  Form form;
  Reader reader;
  std::string_view meaning;
};

const std::vector<Key>& keys();
std::string_view words_of(Form form);  // "a duration such as \"30min\""

// The allowed names in the object at this path; empty: any.
std::vector<std::string> names_in(std::string_view path);
// The row for a member of the object at path; nullptr: not allowed.
const Key* key_at(std::string_view path, const std::string& name);
// The candidate with the smallest edit distance; the first of several.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

// The rules of a class, from the table of Qos (model/qos.h): their keys in a policy file, their values there and in
// words. A new limit is a member and a line of that table; the parser, `plan`, the schema and docs/policy.md then
// have it.

// The key of a field, without its unit, which a file writes beside the number: "walltime_min" is "walltime".
constexpr std::string_view key_of(std::string_view field) {
  for (const std::string_view unit : {"_min", "_s"})
    if (field.ends_with(unit)) return field.substr(0, field.size() - unit.size());
  return field;
}

template <class T>
constexpr Form form_of() {
  if constexpr (requires {
                  typename T::value_type;
                  requires !std::same_as<T, std::string>;
                  requires !std::same_as<T, std::vector<std::string>>;
                })
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
