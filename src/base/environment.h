// Environment variables by name. Thread: any (values).
#pragma once

#include <map>
#include <string>

namespace pounce {

using Environment = std::map<std::string, std::string>;

// Parses an environment in the form of `environ`: "NAME=value" entries, the last one null. Skips entries without a
// name.
Environment environment_of(const char* const* entries);

// Empty if the variable is not set.
std::string value_of(const Environment& environment, const std::string& name);

}  // namespace pounce
