// "1 job", "2 jobs". Pure. Thread: any.
#pragma once

#include <cstdint>
#include <string>

namespace pounce::messages {

inline std::string counted(std::uint64_t count, const std::string& one) {
  std::string words = std::to_string(count);
  words.append(" ").append(one);
  return count == 1 ? words : words.append("s");
}

}  // namespace pounce::messages
