// The local address that packets to a host leave from, which is the address where that host can reach us. Found by
// connecting a datagram socket, which sends nothing. May wait for a name server. Thread: any.
#pragma once

#include <string>

#include "pounce/result.h"

namespace pounce {

// host: a numeric address or a name. An IPv6 answer carries brackets, ready for "tcp://ADDRESS:PORT".
Result<std::string> address_facing(const std::string& host);
// The first address of the named interface, IPv4 before IPv6.
Result<std::string> address_of_interface(const std::string& name);

}  // namespace pounce
