// Headers to bytes and back. The only user of JSON outside configuration files. Unknown optional fields are ignored;
// an unknown type, a wrong version or a malformed field is an Error (kProtocol), never an exception. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pounce/error.h"
#include "protocol/messages.h"

namespace pounce::protocol {

std::string encode(const Header& header);
Result<Header> decode(std::string_view bytes, std::size_t limit);

// The same without the fast path for task and outcome (codec.h), as the reference for it.
std::string encode_generally(const Header& header);
Result<Header> decode_generally(std::string_view bytes);

// Error as a JSON object, for status documents and logs.
std::string encode_error(const Error& error);

// The headers of a short call's way there and back (task, outcome, ack), written and read without building a JSON
// document (plain_json.h). The bytes are those of the general codec. A header that is not of the plain form is left to
// it: both answer nullopt then.
std::optional<std::string> encode_hot(const Header& header);
std::optional<Header> decode_hot(std::string_view bytes);

// A function that is a command line: what travels where a pickle would, so that a client needs no Python
// (docs/protocol.md, "Commands").
std::string encode_command(const std::vector<std::string>& argv);  // ["hostname","-f"]
Result<int> decode_exit_code(std::string_view text);               // {"exit_code":0}; negative: ended by that signal

}  // namespace pounce::protocol
