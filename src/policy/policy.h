// A policy: its content, and its file, which is one JSON document, comments allowed. Everything in a file is checked,
// each complaint names its place, and an unknown key is refused: a misspelt limit must not silently be none. Pure.
// Thread: any.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/qos.h"
#include "pounce/error.h"
#include "pounce/fields.h"

namespace pounce::policy {

struct Class {
  std::string name;
  std::string partition, account;  // empty: Slurm's default
  Qos qos;                         // its name is the class's if the file names none
};

struct Mib {
  std::uint64_t count = 0;
};

struct Leasing {
  std::optional<std::chrono::seconds> keep_warm{}, keep_warm_blind{}, idle_release{}, poll_max{}, warm_poll{},
      parked_keep{}, step_yield_after{}, step_min_run{};
  std::optional<std::uint32_t> starts_per_hour{};
  std::optional<Mib> parked_most{}, cell_output{};
  std::optional<bool> keep_cells{};

  static constexpr auto fields() {
    return table(field("keep_warm_s", &Leasing::keep_warm, "an idle worker is kept so long, while nobody waits for it"),
                 field("keep_warm_blind_s", &Leasing::keep_warm_blind,
                       "the same where Slurm does not show other users' jobs, so that nobody can tell who waits"),
                 field("idle_release_s", &Leasing::idle_release, "an idle worker is given back after it"),
                 field("poll_max_s", &Leasing::poll_max, "Slurm is asked at least so often about what waits"),
                 field("warm_poll_s", &Leasing::warm_poll, "Slurm is asked so often who waits for what is idle"),
                 field("step_yield_after_s", &Leasing::step_yield_after,
                       "a loop of `pounce.steps` is left between two steps for who has waited so long"),
                 field("step_min_run_s", &Leasing::step_min_run, "but not before it has run for so long; 365d: never"),
                 field("starts_per_hour", &Leasing::starts_per_hour,
                       "leases that one user's daemon may start in an hour; 0: as many as are wanted"),
                 field("parked_keep_s", &Leasing::parked_keep,
                       "a notebook's saved variables are removed so long after they were last saved; an hour at least"),
                 field("parked_most", &Leasing::parked_most,
                       "a notebook's variables are saved up to this size, in notebooks that begin after pounced has; "
                       "0MB: whatever their size"),
                 field("cell_output", &Leasing::cell_output,
                       "of a cell that goes on without its kernel so much output is kept; 0MB: no cell goes on"),
                 field("keep_cells", &Leasing::keep_cells,
                       "every cell goes on without its kernel, not only those with --bg or --keep"));
  }
};

struct Policy {                // of a checked file, with every name resolved
  std::vector<Class> classes;  // sorted by name
  Leasing leasing;
  std::map<std::string, std::uint64_t> gpu_memory_mib;        // by Slurm's name of the GPU type
  std::map<std::string, std::uint32_t> gpu_cuda;              // the newest that its driver runs: 12040 is 12.4
  std::vector<std::string> class_order;                       // tried if none is named; empty: see in_order()
  std::map<std::string, std::vector<std::string>> fallbacks;  // class -> alternatives, best first
  std::vector<std::string> slurm_options;                     // of sbatch, which users may pass on
  std::string prologue, interpreter, container, interface, notify;
  std::optional<std::pair<std::uint16_t, std::uint16_t>> ports;
};

std::string ports_text(const Policy& policy);  // "50000-50999"; empty: any
std::vector<Qos> all_qos(const Policy& policy);

// ---- its file -----------------------------------------------------------------------------------------------------

inline constexpr std::size_t kMostPolicyBytes = 1 << 20;

Result<Policy> parse_policy(std::string_view text);  // kBadRequest
// A file with these QoS as classes, which parse_policy reads back unchanged.
std::string policy_text(const std::vector<Qos>& qos);

// What is wrong with a policy, as an error.
inline tl::unexpected<Error> bad(std::string text) { return failure(ErrorCode::kBadRequest, std::move(text)); }

// Checks the names in a policy that must exist: classes in preempts and fallbacks, options of sbatch, placeholders.
// Replaces the classes that a class preempts by their QoS, sorted.
Result<void> resolve(Policy& policy);

}  // namespace pounce::policy
