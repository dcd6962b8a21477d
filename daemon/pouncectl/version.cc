// pouncectl version: which parts are installed, and which libslurm pounce-slurm really loads.
#include <poll.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.h"
#include "pounce/version.h"
#include "pouncectl/commands.h"
#include "pouncectl/daemon_link.h"
#include "slurm/slurm_gateway.h"

namespace pounce::ctl {
namespace {

Result<std::string> loaded_libslurm() {
  slurm::GatewayOptions options;
  options.program = sibling("pounce-slurm");
  options.request_deadline = std::chrono::seconds(10);
  if (const char* conf = std::getenv("SLURM_CONF")) options.environment["SLURM_CONF"] = conf;
  slurm::SlurmGateway gateway(options);
  std::optional<Result<std::string>> answer;
  gateway.version([&](Result<std::string> reply) { answer = std::move(reply); });
  while (!answer) {
    const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(gateway.next_deadline() - Clock::now());
    pollfd readable{gateway.fd(), POLLIN, 0};
    ::poll(&readable, 1, static_cast<int>(std::max<std::int64_t>(wait.count(), 1)));
    if (readable.revents != 0) gateway.on_readable();
    gateway.on_time(Clock::now());
  }
  return std::move(*answer);
}

}  // namespace

int version(bool json) {
  const auto libslurm = loaded_libslurm();
  if (json) {
    nlohmann::json document = {{"pounce", kVersion}, {"protocol", kProtocolVersion}, {"libslurm", nullptr}};
    if (libslurm)
      document["libslurm"] = *libslurm;
    else
      document["libslurm_error"] = libslurm.error().text;
    std::cout << document.dump(2) << '\n';
  } else {
    std::cout << "pounce    " << kVersion << "\nprotocol  " << kProtocolVersion << "\nlibslurm  "
              << (libslurm ? *libslurm : "none: " + libslurm.error().text) << '\n';
  }
  return kOk;
}

}  // namespace pounce::ctl
