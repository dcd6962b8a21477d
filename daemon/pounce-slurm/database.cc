// SPDX-License-Identifier: GPL-3.0-or-later
#include "database.h"

#include <cerrno>

namespace pounce::slurm {
namespace {

void* connect() {
  std::uint16_t flags = 0;
  return slurmdb_connection_get(&flags);
}

// Sockets' errors, Slurm's protocol (1xxx), its sockets (5xxx), its database (7000).
bool nobody_there(int code) {
  return code == ECONNREFUSED || code == ECONNRESET || code == EPIPE || code == ETIMEDOUT || code == EHOSTUNREACH ||
         code == ENETUNREACH || (code >= 1000 && code < 2000) || (code >= 5000 && code < 6000) || code == 7000;
}

}  // namespace

// It is a connection also where slurmdbd is down (gotchas S5): the first call tells.
Database::Database() : connection_(connect()) {}
Database::~Database() { slurmdb_connection_close(&connection_); }

Result<void> Database::commit(bool keep) {
  errno = 0;
  if (slurmdb_connection_commit(connection_, keep) == SLURM_SUCCESS) return {};
  return failure(database_error());
}

SlurmList list_of(const std::vector<std::string>& texts) {
  SlurmList list(slurm_list_create(nullptr));
  for (const std::string& text : texts) slurm_list_append(list.get(), const_cast<char*>(text.c_str()));
  return list;
}

// Of a refusal errno is not always the reason (a preemption loop comes as EAGAIN): libslurm prints it (gotchas S4).
Error database_error() {
  const int code = errno;
  const std::string words = slurm_strerror(code);
  Error error{ErrorCode::kRejected, "slurmdbd refused", "Change it as the message says; nothing was changed.",
              {{"slurm_code", std::to_string(code)}}};
  if (code > 1000) error.text += ": " + words;
  if (code == ESLURM_ACCESS_DENIED) {
    error.text = "only an Administrator of Slurm may change QoS (" + words + ")";
    error.remedy =
        "Run it as root, or ask the admin for the right: sacctmgr modify user NAME set adminlevel=Administrator";
  } else if (nobody_there(code)) {
    error.code = ErrorCode::kSlurmUnreachable;
    error.text = "slurmdbd did not answer: " + words;
    error.remedy = "Start slurmdbd (systemctl start slurmdbd) and run this again; nothing was changed.";
  }
  return error;
}

}  // namespace pounce::slurm
