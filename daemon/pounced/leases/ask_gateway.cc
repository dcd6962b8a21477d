#include "pounced/leases/ask_gateway.h"

#include <poll.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/clock.h"

namespace pounce::daemon {

slurm::GatewayOptions gateway_options(const Config& config) {
  slurm::GatewayOptions options;
  options.program = config.pounce_slurm;
  options.request_deadline = config.times.slurm_request;
  for (const char* name : {"SLURM_CONF", "SLURM_CONF_SERVER", "HOME", "PATH", "LANG", "TZ"})
    if (const char* value = std::getenv(name)) options.environment[name] = value;
  return options;
}

Result<ClusterFacts> ask_facts(const Config& config) {
  slurm::SlurmGateway gateway(gateway_options(config));
  std::optional<Result<ClusterFacts>> answer;
  gateway.ask(slurm::AskFacts{}, [&](Result<ClusterFacts> facts) { answer = std::move(facts); });
  while (!answer) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(gateway.next_deadline() - Clock::now());
    pollfd readable{gateway.fd(), POLLIN, 0};
    ::poll(&readable, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1000)));
    if (readable.revents != 0) gateway.on_readable();
    gateway.on_time(Clock::now());
  }
  return std::move(*answer);
}

}  // namespace pounce::daemon
