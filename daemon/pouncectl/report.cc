#include "pouncectl/report.h"

#include <unistd.h>

#include <iostream>

#include "pouncectl/commands.h"
#include "pouncectl/style.h"
#include "protocol/codec.h"

namespace pounce::ctl {

int report(const Error& error, bool json) {
  if (json)
    std::cout << "{\"error\":" << protocol::encode_error(error) << "}\n";
  else
    std::cerr << coloured(Colour::kRed, "pouncectl: " + error.text + ".", STDERR_FILENO) << ' ' << error.advice()
              << '\n';
  return error.code == ErrorCode::kDaemonUnavailable ? kNoDaemon : kFailed;
}

}  // namespace pounce::ctl
