// Which libzmq is loaded. Thread: any.
#pragma once

#include <string>

namespace pounce::transport {

std::string library_version();  // "4.3.4"

}  // namespace pounce::transport
