#include "pouncectl/error_report.h"

#include <unistd.h>

#include <iostream>

#include "messages/sentence.h"
#include "pouncectl/commands.h"
#include "pouncectl/style.h"
#include "protocol/codec.h"

namespace pounce::ctl {

int report(const Error& error, bool json) {
  if (json)
    std::cout << "{\"error\":" << protocol::encode_error(error) << "}\n";
  else
    std::cerr << coloured(Colour::kRed, "pouncectl: " + messages::text(error) + ".", STDERR_FILENO) << ' ' << error.advice()
              << '\n';
  return error.code == ErrorCode::kDaemonUnavailable ? kNoDaemon : kFailed;
}

}  // namespace pounce::ctl
