// pounced's configuration: one JSON file, comments allowed. It is parsed once; every part gets the few values that it
// needs. An unknown key is refused with the list of the known ones: a misspelt time must not silently keep its
// default. Thread: any (values).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/lease/defaults.h"
#include "pounce/error.h"
#include "pounce/fields.h"

namespace pounce::daemon {

enum class LauncherKind : std::uint8_t { kSlurm, kLocal };

constexpr auto words(LauncherKind) { return words_of<LauncherKind>({"slurm", "local"}); }
constexpr std::string_view word(LauncherKind kind) { return words(kind).of(kind); }

// A further node of the job whose resources the local launcher hands out.
struct ConfigNode {
  std::string name;
  std::uint32_t relative = 0, cpus = 0, memory_mib = 0;
  std::string gpus;

  static constexpr auto fields() {
    return table(field("name", &ConfigNode::name),
                 field("relative", &ConfigNode::relative, "which of the job's nodes, as srun counts them"),
                 field("cpus", &ConfigNode::cpus), field("memory_mib", &ConfigNode::memory_mib),
                 field("gpus", &ConfigNode::gpus));
  }
};

// Its keys are these fields and the times of lease::kConfigKeys; docs/states.md has both tables.
struct Config {
  std::string path;  // the file it was read from; empty: there is none, all defaults
  lease::Defaults times;
  std::set<std::string> said;  // the keys that the file has
  std::string policy;
  std::optional<LauncherKind> launcher;
  std::uint32_t stand_in_gpus = 0, local_cpus = 0, local_memory_mib = 0;
  std::string local_gpus;
  std::uint32_t local_relative = 0;
  std::vector<ConfigNode> local_nodes;
  std::string advertise_address, state_folder, pounce_slurm, pounce_worker;

  static constexpr auto fields() {
    return table(
        field("launcher", &Config::launcher, "`slurm` or `local`; unset: slurm where there is one"),
        field("stand_in_gpus", &Config::stand_in_gpus,
              "local launcher: so many GPUs are granted as this machine's CPU"),
        field("local_cpus", &Config::local_cpus,
              "local launcher: so many CPUs are handed out, and leases wait for them; 0: not counted, and none waits"),
        field("local_memory_mib", &Config::local_memory_mib, "with `local_cpus`: so much memory; 0: not counted"),
        field("local_gpus", &Config::local_gpus, "with `local_cpus`: these GPUs, as CUDA_VISIBLE_DEVICES names them"),
        field("local_relative", &Config::local_relative,
              "with `local_nodes`: which of the job's nodes this one is, as srun counts them"),
        field("local_nodes", &Config::local_nodes,
              "with `local_cpus`: further nodes of the job of Slurm's that pounced runs in, each with `name`, "
              "`relative`, `cpus`, `memory_mib`, "
              "`gpus`; srun starts workers there"),
        field("advertise_address", &Config::advertise_address, "where compute nodes reach this host; unset: found out"),
        field("policy", &Config::policy, "the site's policy file; unset: /etc/pounce/policy.json where there is one"),
        field("state_folder", &Config::state_folder, "unset: ~/.local/state/pounce"),
        field("pounce_slurm", &Config::pounce_slurm,
              "that program; unset: the one that `pouncectl setup` made, else beside pounced"),
        field("pounce_worker", &Config::pounce_worker, "that program; unset: beside pounced"));
  }
};

Result<Config> parse_config(std::string_view text);

// named (must exist), else $POUNCE_CONFIG (must exist), else ~/.config/pounce/pounced.json, else
// /etc/pounce/pounced.json.
Result<Config> load_config(const std::string& named);

}  // namespace pounce::daemon
