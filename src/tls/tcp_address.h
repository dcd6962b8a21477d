// "tcp://10.77.0.1:50007" and the other forms of a port in an endpoint. Numeric only: no name service is used.
// Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/listening_socket.h"
#include "base/unique_fd.h"
#include "pounce/result.h"

namespace pounce::tls {

// "tcp://10.77.0.1:*" is any free port, "tcp://[fd00::1]:50000-50999" the first free one of these; the pid decides
// where the search starts.
Result<ListeningSocket> listen_at(const std::string& endpoint);

// Begins to connect; the descriptor becomes writable on success or failure (SO_ERROR).
Result<UniqueFd> begin_to_connect(const std::string& endpoint);

}  // namespace pounce::tls
