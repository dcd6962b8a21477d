#include "pouncectl/report.h"

#include <unistd.h>

#include <iostream>

#include "pouncectl/commands.h"
#include "protocol/codec.h"

namespace pounce::ctl {

int report(const Error& error, bool json) {
  const bool colour = ::isatty(STDERR_FILENO) != 0;
  if (json)
    std::cout << "{\"error\":" << protocol::encode_error(error) << "}\n";
  else
    std::cerr << (colour ? "\033[31m" : "") << "pouncectl: " << error.text << '.' << (colour ? "\033[0m" : "") << ' '
              << error.advice() << '\n';
  return error.code == ErrorCode::kDaemonUnavailable ? kNoDaemon : kFailed;
}

}  // namespace pounce::ctl
