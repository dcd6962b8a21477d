// When something that waits is expected to start. Values only. Thread: any.
#pragma once

#include <cstdint>
#include <string>

namespace pounce {

struct Eta {
  std::int64_t start_s = 0;             // unix; as likely earlier as later. 0: nothing can be said
  std::int64_t low_s = 0, high_s = 0;   // it lies between the two four times in five
  std::string basis;                    // what it rests on, in plain words
  bool known() const { return start_s != 0; }
  bool operator==(const Eta&) const = default;
};

}  // namespace pounce
