// The headers of a short call's way there and back (task, outcome, ack), written and read without building a JSON document
// (plain_writer.h). The bytes are those of the general codec. Whatever is not of the plain form is left to it: both answer
// nullopt then. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "protocol/messages.h"

namespace pounce::protocol {

std::optional<std::string> encode_hot(const Header& header);
std::optional<Header> decode_hot(std::string_view bytes);

}  // namespace pounce::protocol
