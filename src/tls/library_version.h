// Which OpenSSL is loaded. Thread: any.
#pragma once

#include <string>

namespace pounce::tls {

std::string library_version();  // "3.0.19"; empty if built without it: then bulk data goes over ZeroMQ

}  // namespace pounce::tls
