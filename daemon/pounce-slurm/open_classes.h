// SPDX-License-Identifier: GPL-3.0-or-later
// The service classes, which are QoS, as this user sees them: their names, whether they are open, and what they
// allow. From slurmctld's cache, without a query to slurmdbd (gotchas S7). Thread: main.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pounce/cluster.h"
#include "pounce/job.h"
#include "pounce/result.h"
#include "slurm_compat.h"

namespace pounce::slurm {

struct UserClass {
  ClassLimits limits;
  std::uint32_t id = 0;               // the QoS's
  bool open = false;                  // this user may submit to it
  std::optional<std::uint64_t> gpus;  // the most that one job can get
};

struct Classes {
  std::vector<UserClass> all;         // sorted by name; empty if Slurm keeps no accounts
  std::string default_class;          // of this user; may be empty
  std::vector<std::string> accounts;  // of this user
};

Result<Classes> load_classes();
Result<Classes> recent_classes();  // at most 30 s old: one reading serves a burst of submits
Classes classes_in(const assoc_mgr_info_msg_t& message, const std::string& user);  // `message` was loaded for that user
std::string user_name();
// "long, short": the open classes, or all if none is open.
std::string class_names(const Classes& classes);

// Checks before the submit, since Slurm lets a job over its class's limits wait for ever (gotchas S7) and, if it
// enforces no QoS, ignores an unknown one. Refuses only what waiting cannot change; Slurm decides the rest.
Result<void> check_limits(const JobSpec& spec);

std::string qos_of(const JobSpec& spec);
const UserClass* find(const Classes& classes, const std::string& qos);  // empty: the default class
std::string class_words(const JobSpec& spec);                        // "class 'fast' (QoS 'f1')"
std::string request_words(const Resources& resources);               // "1 GPU of type a100, 30 minutes"

}  // namespace pounce::slurm
