// The content of a checked policy file, with every name resolved. Thread: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/qos.h"
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
  std::optional<Mib> parked_most{};

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
                       "0MB: whatever their size"));
  }
};

struct Policy {
  std::vector<Class> classes;  // sorted by name
  Leasing leasing;
  std::map<std::string, std::uint64_t> gpu_memory_mib;        // by Slurm's name of the GPU type
  std::map<std::string, std::uint32_t> gpu_cuda;              // the newest that its driver runs: 12040 is 12.4
  std::vector<std::string> class_order;                       // tried if none is named; empty: see in_order()
  std::map<std::string, std::vector<std::string>> fallbacks;  // class -> alternatives, best first
  std::vector<std::string> slurm_options;                     // of sbatch, which users may pass on
  std::string prologue, interpreter, container, interface;
  std::optional<std::pair<std::uint16_t, std::uint16_t>> ports;
};

std::string ports_text(const Policy& policy);  // "50000-50999"; empty: any
std::vector<Qos> all_qos(const Policy& policy);

}  // namespace pounce::policy
