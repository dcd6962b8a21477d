// Every key that a policy file may have: the one table that the parser, docs/policy.md and docs/policy.schema.json are
// held to. A path's "*" is a name that the site chooses. Pure. Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pounce::policy {

enum class Form {
  kObject,    // of keys that have rows of their own
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

enum class Reader { kSlurm, kPounced, kNobody };  // who acts on it: plan and apply, pounced, nobody

struct Key {
  std::string path;
  Form form;
  Reader reader;
  std::string_view meaning;
};

const std::vector<Key>& keys();
std::string_view words_of(Form form);  // "a duration such as \"30min\""

// The names that may stand in the object at this path; empty: any name may.
std::vector<std::string> names_in(std::string_view path);
// The row for a member of the object at path; nullptr: it may not have it.
const Key* key_at(std::string_view path, const std::string& name);
// The one that is the fewest edits away; the first of several.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace pounce::policy
