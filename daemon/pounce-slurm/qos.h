// SPDX-License-Identifier: GPL-3.0-or-later
// Reads and writes the QoS in slurmdbd for an admin (`pounce-slurm --admin`). Thread: main.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "database.h"
#include "pounce/qos.h"
#include "pounce/result.h"

namespace pounce::slurm {

struct StoredQos {
  std::map<std::uint32_t, std::string> names;  // by id
  std::vector<Qos> all;                        // sorted by name
};

Result<StoredQos> load_qos(const Database& database);
// The id of gres/<name> in this database.
Result<std::optional<std::uint32_t>> gres_tres(const Database& database, const std::string& name);

}  // namespace pounce::slurm
