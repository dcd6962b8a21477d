// pounced's configuration: one JSON file, comments allowed. Parsed once; every part gets the few values that it needs.
// An unknown key is refused with the list of the known ones: a misspelt time must not silently keep its default.
// Thread: any (values).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/lease/defaults.h"
#include "pounce/result.h"

namespace pounce::daemon {

enum class LauncherKind : std::uint8_t { kSlurm, kLocal };

std::string_view word(LauncherKind kind);  // "slurm", "local"
std::optional<LauncherKind> launcher_from(std::string_view word);

struct Config {
  std::string path;  // the file it was read from; empty: there is none, all defaults
  lease::Defaults times;
  std::set<std::string> said;  // the keys that the file has
  std::string policy;          // the site's policy file; empty: /etc/pounce/policy.json where there is one
  std::optional<LauncherKind> launcher;     // unset: slurm where there is one, else local
  std::uint32_t stand_in_gpus = 0;          // local launcher: so many GPUs are granted as this machine's CPU
  std::string advertise_address;            // where compute nodes reach this host; empty: found out
  std::string state_folder;                 // empty in the file: ~/.local/state/pounce
  std::string pounce_slurm, pounce_worker;  // programs; empty: beside this program
};

Result<Config> parse_config(std::string_view text);

// named (must exist), else $POUNCE_CONFIG (must exist), else ~/.config/pounce/pounced.json, else
// /etc/pounce/pounced.json.
Result<Config> load_config(const std::string& named);

}  // namespace pounce::daemon
