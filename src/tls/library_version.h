// Which OpenSSL is loaded. Thread: any.
#pragma once

#include <string>

namespace pounce::tls {

std::string library_version();  // "3.0.19"; empty where the build found none, and bulk data takes ZeroMQ

}  // namespace pounce::tls
