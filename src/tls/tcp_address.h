// "tcp://10.77.0.1:50007" and what else an endpoint may say of its port. Numeric only: no name service is asked. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/listening_socket.h"
#include "base/unique_fd.h"
#include "pounce/result.h"

namespace pounce::tls {

// "tcp://10.77.0.1:*" is any free port, "tcp://[fd00::1]:50000-50999" the first free one of these, from a place of our own on.
Result<ListeningSocket> listen_at(const std::string& endpoint);

// Begins to connect; the descriptor is writable when it did or failed (SO_ERROR).
Result<UniqueFd> begin_to_connect(const std::string& endpoint);

}  // namespace pounce::tls
