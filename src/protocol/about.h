// A message's text in docs/protocol.md beside its fields. K kernel (client), D pounced, S supervisor, I interpreter,
// P pouncectl. Thread: any (constants).
#pragma once

#include <string_view>

namespace pounce::protocol {

struct About {
  std::string_view way;      // "K → D"
  std::string_view payload;  // frames after the header; empty: none
  std::string_view when;
};

}  // namespace pounce::protocol
