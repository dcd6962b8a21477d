// pouncectl status: the daemon of this instance, its leases and sessions.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "pouncectl/commands.h"
#include "pouncectl/daemon_link.h"
#include "pouncectl/report.h"

namespace pounce::ctl {
namespace {

void print_lease(const nlohmann::json& lease) {
  std::printf("  %-16s %-9s %-10s job %-8u %-8s %s\n", lease.value("lease", "").c_str(),
              lease.value("class", "").c_str(), lease.value("state", "").c_str(), lease.value("job", 0u),
              lease.value("node", "").c_str(), lease.value("devices", "").c_str());
}

void print_status(const protocol::EndpointFile& daemon, const nlohmann::json& status) {
  const auto leases = status.value("leases", nlohmann::json::array());
  std::printf("pounced %u on %s (%s), instance %s\nlog      %s\nsessions %zu\nleases   %zu\n", daemon.pid,
              daemon.cluster.c_str(), daemon.launcher.c_str(), daemon.instance.c_str(), daemon.log.c_str(),
              status.value("sessions", nlohmann::json::array()).size(), leases.size());
  for (const auto& lease : leases) print_lease(lease);
}

}  // namespace

int status(bool json) {
  const auto daemon = find_daemon();
  if (!daemon) return report(daemon.error(), json);
  const auto answer = ask(*daemon, protocol::StatusAsk{1});
  if (!answer) return report(answer.error(), json);
  const auto* told = std::get_if<protocol::StatusIs>(&*answer);
  const auto document = told != nullptr ? nlohmann::json::parse(told->document, nullptr, false) : nlohmann::json();
  if (!document.is_object())
    return report(Error{ErrorCode::kProtocol, "pounced answered something else", {}, {}}, json);
  if (json)
    std::cout << document.dump(2) << '\n';
  else
    print_status(*daemon, document);
  return kOk;
}

}  // namespace pounce::ctl
