#include "transport/library_version.h"

#include <zmq.h>

namespace pounce::transport {

std::string library_version() {
  int major = 0, minor = 0, patch = 0;
  ::zmq_version(&major, &minor, &patch);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

}  // namespace pounce::transport
