#include "pouncectl/error_report.h"

#include <unistd.h>

#include <iostream>

#include "base/printable.h"
#include "messages/sentence.h"
#include "model/json.h"
#include "pouncectl/commands.h"
#include "pouncectl/output.h"
#include "pouncectl/style.h"

namespace pounce::ctl {

int report(const Error& error, bool json) {
  if (json)
    print_json({{"error", model::to_json(error)}}, -1);
  else
    std::cerr << coloured(Colour::kRed, printable("pouncectl: " + messages::text(error) + "."), STDERR_FILENO) << ' '
              << printable(error.advice()) << '\n';
  return error.code == ErrorCode::kDaemonUnavailable ? kNoDaemon : kFailed;
}

}  // namespace pounce::ctl
