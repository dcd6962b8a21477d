// Two descriptors with a stream between them, closed at exec. nullopt: errno tells why. Thread: any.
#pragma once

#include <optional>

#include "base/unique_fd.h"

namespace pounce {

struct Pipe {
  UniqueFd reader, writer;
};

std::optional<Pipe> make_pipe();
std::optional<Pipe> make_socket_pair();  // stream sockets: either end reads and writes

}  // namespace pounce
