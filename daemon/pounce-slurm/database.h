// SPDX-License-Identifier: GPL-3.0-or-later
// A connection to slurmdbd with its lists and errors, and the QoS in it, read and written for an admin
// (`pounce-slurm --admin`). Thread: main.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/qos.h"
#include "pounce-slurm/libslurm_values.h"
#include "pounce/error.h"

namespace pounce::slurm {

class Database {
 public:
  Database();
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void* get() const { return connection_; }
  // Commits the changes since the last commit, or rolls them back. Fails with kOutcomeUnknown.
  Result<void> commit(bool keep = true);

 private:
  void* connection_;
};

struct DestroyList {
  template <class L>
  void operator()(L* list) const {
    slurm_list_destroy(list);
  }
};
using SlurmList = std::unique_ptr<std::remove_pointer_t<decltype(slurm_list_create(nullptr))>, DestroyList>;

// The count of one id in "1=16,1001=2".
std::optional<std::uint64_t> tres_count(std::string_view tres, std::uint32_t id);
// The list points to the texts and does not own them.
SlurmList list_of(const std::vector<std::string>& texts);
SlurmList list_of(std::vector<std::string>&& texts) = delete;
// Why the last call failed. Every change follows a read, which already fails if slurmdbd does not run.
Error read_error();   // kSlurmUnreachable
Error write_error();  // kRejected

struct StoredQos {
  std::map<std::uint32_t, std::string> names;  // by id
  std::vector<Qos> all;                        // sorted by name
};

Result<StoredQos> load_qos(const Database& database);
// The id of gres/<name> in this database.
Result<std::optional<std::uint32_t>> gres_tres(const Database& database, const std::string& name);

}  // namespace pounce::slurm
