#include <nlohmann/json.hpp>

#include "pounced/leases/site_policy.h"
#include "pounced/startup/commands.h"
#include "pounced/startup/folders.h"
#include "pounced/startup/instance.h"
#include "protocol/codec.h"

namespace pounce::daemon {
namespace {

using nlohmann::json;

std::string_view word(SlurmFound found) {
  constexpr std::string_view kWords[] = {"nothing", "file", "configless"};
  return kWords[static_cast<int>(found)];
}

// Lists names, each with a space behind it.
void add_old_folders(json& document, const Setup& setup) {
  std::string gone, elsewhere, open;
  for (const auto& [name, state] : look_at_others(setup.folders, setup.place)) {
    if (state == FolderState::kGone || state == FolderState::kFresh) gone += name + " ";
    if (state == FolderState::kElsewhere) elsewhere += name + " ";
    if (state == FolderState::kOpenLeases) open += name + " ";
  }
  document["folders_gone"] = gone;
  document["folders_elsewhere"] = elsewhere;
  document["folders_open"] = open;
}

void add_setup(json& document, const Setup& setup) {
  document["launcher"] = word(setup.launcher);
  document["notice"] = setup.notice;
  document["cluster"] = setup.place.cluster;
  document["instance"] = setup.instance.hex();
  document["config"] = setup.config.path;
  document["policy"] = setup.launcher == LauncherKind::kSlurm ? policy_path(setup.config) : "";
  document["state_folder"] = setup.folders.state;
  document["parked"] = setup.folders.parked();
  document["runtime_folder"] = setup.folders.runtime;
  document["log"] = setup.folders.log();
  document["leases"] = setup.folders.leases();
  document["pounce_slurm"] = setup.config.pounce_slurm;
  document["pounce_worker"] = setup.config.pounce_worker;
  document["advertise_address"] = setup.config.advertise_address;
}

}  // namespace

Whereabouts whereabouts(const CommandLine& command, bool folders, const SlurmPlaces& places) {
  const SlurmSource slurm = find_slurm(places);
  json document = {{"slurm", word(slurm.found)}, {"slurm_conf", slurm.path}, {"state_base", default_state_folder()}};
  const auto setup = set_up(command, places);
  if (setup) add_setup(document, *setup);
  if (setup && folders) add_old_folders(document, *setup);
  if (!setup) document["error"] = json::parse(protocol::encode_error(setup.error()));
  return {document.dump(-1, ' ', false, json::error_handler_t::replace), setup.has_value()};
}

}  // namespace pounce::daemon
