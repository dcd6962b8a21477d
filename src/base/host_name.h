// This machine's own host name. Thread: any.
#pragma once

#include <unistd.h>

#include <string>

namespace pounce {

inline std::string host_name() {
  char name[256] = "";
  ::gethostname(name, sizeof(name) - 1);
  return name;
}

}  // namespace pounce
