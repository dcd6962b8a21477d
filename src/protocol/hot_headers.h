// The headers of a short call (task, outcome, ack), written and read without building a JSON document
// (plain_writer.h). The bytes are the same as the general codec's. Both functions return nullopt for anything that is
// not in plain form; the general codec then handles it. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "protocol/messages.h"

namespace pounce::protocol {

std::optional<std::string> encode_hot(const Header& header);
std::optional<Header> decode_hot(std::string_view bytes);

}  // namespace pounce::protocol
