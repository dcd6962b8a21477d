#include "pouncectl/libslurm.h"

#include <poll.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>

#include "base/clock.h"
#include "pouncectl/program.h"
#include "slurm/slurm_gateway.h"

namespace pounce::ctl {
namespace {

slurm::GatewayOptions options(bool admin) {
  slurm::GatewayOptions options;
  options.program = sibling("pounce-slurm");
  options.admin = admin;
  // One QoS takes 0.1 s, a slurmdbd that has just come back some seconds.
  options.request_deadline = std::chrono::seconds(admin ? 120 : 10);
  for (const char* name : {"SLURM_CONF", "SLURM_CONF_SERVER", "HOME", "PATH"})
    if (const char* value = std::getenv(name)) options.environment[name] = value;
  return options;
}

template <class T>
Result<T> ask_gateway(const std::function<void(slurm::SlurmGateway&, slurm::SlurmGateway::Reply<T>)>& ask,
                      bool admin = false) {
  slurm::SlurmGateway gateway(options(admin));
  std::optional<Result<T>> answer;
  ask(gateway, [&](Result<T> reply) { answer = std::move(reply); });
  while (!answer) {
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(gateway.next_deadline() - Clock::now()).count();
    pollfd readable{gateway.fd(), POLLIN, 0};
    ::poll(&readable, 1, static_cast<int>(std::clamp<std::int64_t>(wait, 1, 1000)));
    if (readable.revents != 0) gateway.on_readable();
    gateway.on_time(Clock::now());
  }
  return std::move(*answer);
}

}  // namespace

Result<std::string> loaded_libslurm() {
  return ask_gateway<std::string>([](auto& gateway, auto reply) { gateway.version(std::move(reply)); });
}

Result<ClusterFacts> cluster_facts() {
  return ask_gateway<ClusterFacts>([](auto& gateway, auto reply) { gateway.facts(std::move(reply)); });
}

Result<QosFacts> qos_facts() {
  return ask_gateway<QosFacts>([](auto& gateway, auto reply) { gateway.read_qos(std::move(reply)); }, true);
}

Result<Holdings> cluster_holdings() {
  return ask_gateway<Holdings>([](auto& gateway, auto reply) { gateway.holdings(std::move(reply)); }, true);
}

Result<UsageFacts> cluster_usage(std::int64_t from_s) {
  return ask_gateway<UsageFacts>([&](auto& gateway, auto reply) { gateway.usage(from_s, std::move(reply)); }, true);
}

Result<QosFacts> write_qos(const std::vector<Qos>& qos) {
  return ask_gateway<QosFacts>([&](auto& gateway, auto reply) { gateway.write_qos(qos, std::move(reply)); }, true);
}

}  // namespace pounce::ctl
