// The local address that packets to a host leave from: the one place where that host can reach us. Found by connecting
// a datagram socket, which sends nothing. Thread: any.
#pragma once

#include <string>

#include "pounce/result.h"

namespace pounce::worker {

// host: a numeric address or a name, as in tcp://HOST:PORT ("[::1]" with brackets). "10.77.0.1" or "[fd00::1]".
Result<std::string> address_facing(const std::string& host);
std::string host_of(const std::string& tcp_endpoint);  // "tcp://10.0.0.1:5555" -> "10.0.0.1"; empty if it is not tcp

}  // namespace pounce::worker
