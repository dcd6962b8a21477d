// SPDX-License-Identifier: GPL-3.0-or-later
// The service classes, which are QoS here, as this user sees them: which there are, which are open to the user, and
// what they allow. From slurmctld's own cache, no slurmdbd is asked (gotchas S7). Thread: main.
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
  std::uint32_t id = 0;               // of the QoS
  bool open = false;                  // this user may submit to it
  std::optional<std::uint64_t> gpus;  // the most that one job can ever get
};

struct Classes {
  std::vector<UserClass> all;         // sorted by name; empty where Slurm keeps no accounts
  std::string default_class;          // of this user; may be empty
  std::vector<std::string> accounts;  // of this user
};

Result<Classes> load_classes();
Result<Classes> recent_classes();  // at most 30 s old: one look serves a burst of submits
Classes classes_in(const assoc_mgr_info_msg_t& message, const std::string& user);  // in what was loaded of that user
std::string user_name();
// "long, short": those open to the user; all of them when none is.
std::string class_names(const Classes& classes);

// Slurm lets a job that is over its class's limits wait for ever (gotchas S7), and where it enforces no QoS it takes one that
// does not exist for none: told before it is submitted. Only what no waiting can change is refused here; everything else is
// Slurm's to decide.
Result<void> check_limits(const JobSpec& spec);

std::string qos_of(const JobSpec& spec);
const UserClass* find(const Classes& classes, const std::string& qos);  // empty: the default class
std::string class_words(const JobSpec& spec);                           // "class 'fast' (QoS 'f1')"
std::string asked_for(const Resources& asked);                          // "1 GPU of type a100, 30 minutes"

}  // namespace pounce::slurm
