#include "pouncectl/libslurm.h"

#include <poll.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>

#include "base/clock.h"
#include "pouncectl/program.h"
#include "slurm/helper_program.h"
#include "slurm/slurm_gateway.h"

namespace pounce::ctl {
namespace {

slurm::GatewayOptions options(bool admin) {
  slurm::GatewayOptions options;
  options.program = slurm::find_helper(own_folder());
  options.admin = admin;
  // Each QoS takes 0.1 s; a slurmdbd that has just restarted takes some seconds.
  options.request_deadline = std::chrono::seconds(admin ? 120 : 10);
  for (const char* name : {"SLURM_CONF", "SLURM_CONF_SERVER", "HOME", "PATH"})
    if (const char* value = std::getenv(name)) options.environment[name] = value;
  return options;
}

}  // namespace

Result<std::any> detail::ask_slurm(slurm::Question question) {
  slurm::SlurmGateway gateway(options(is_admins(question)));
  std::optional<Result<std::any>> answer;
  gateway.send(std::move(question), [&](Result<std::any> reply) { answer = std::move(reply); });
  while (!answer) {
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(gateway.next_deadline() - Clock::now()).count();
    pollfd readable{gateway.fd(), POLLIN, 0};
    ::poll(&readable, 1, static_cast<int>(std::clamp<std::int64_t>(wait, 1, 1000)));
    if (readable.revents != 0) gateway.on_readable();
    gateway.on_time(Clock::now());
  }
  return std::move(*answer);
}

}  // namespace pounce::ctl
