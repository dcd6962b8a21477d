// Headers to bytes and back. The only user of JSON outside configuration files. Unknown optional fields are ignored;
// an unknown type, a wrong version or a malformed field is an Error (kProtocol), never an exception. Thread: any.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "pounce/result.h"
#include "protocol/messages.h"

namespace pounce::protocol {

std::string encode(const Header& header);
Result<Header> decode(std::string_view bytes, std::size_t limit);

// The same without the fast path for task and outcome (hot_headers.h), as the reference for it.
std::string encode_generally(const Header& header);
Result<Header> decode_generally(std::string_view bytes);

// Error as a JSON object, for status documents and logs.
std::string encode_error(const Error& error);

}  // namespace pounce::protocol
