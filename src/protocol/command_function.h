// A function that is a command line. It travels in place of a pickle, so a client needs no Python (docs/protocol.md,
// "Commands"). Implemented in codec.cc, the only file that knows JSON. Thread: any (values).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pounce/result.h"

namespace pounce::protocol {

std::string encode_command(const std::vector<std::string>& argv);  // ["hostname","-f"]
Result<int> decode_exit_code(std::string_view text);               // {"exit_code":0}; negative: ended by that signal

}  // namespace pounce::protocol
