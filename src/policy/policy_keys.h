// Every key that a policy file may have: the single table for the parser, docs/policy.md and docs/policy.schema.json.
// A path's "*" is a name that the site chooses. Pure. Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pounce::policy {

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

}  // namespace pounce::policy
