// Environment variables by name. Thread: any (values).
#pragma once

#include <map>
#include <string>

namespace pounce {

using Environment = std::map<std::string, std::string>;

// Of an environment as `environ` has it: "NAME=value" each, the last one null. An entry without a name is left out.
Environment environment_of(const char* const* entries);

// Empty where it is not set.
std::string value_of(const Environment& environment, const std::string& name);

}  // namespace pounce
