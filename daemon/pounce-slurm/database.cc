// SPDX-License-Identifier: GPL-3.0-or-later
#include "pounce-slurm/database.h"

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace pounce::slurm {
namespace {

void* connect() {
  std::uint16_t flags = 0;
  return slurmdb_connection_get(&flags);
}

// errno is not always the reason: libslurm's printing sets it to EAGAIN, and what it prints is the reason (gotchas
// S4).
std::string reason(int code) { return code > 1000 ? std::string(": ") + slurm_strerror(code) : std::string(); }

}  // namespace

// connect() succeeds even if slurmdbd is down (gotchas S5); the first call fails then.
Database::Database() : connection_(connect()) {}
Database::~Database() { slurmdb_connection_close(&connection_); }

Result<void> Database::commit(bool keep) {
  errno = 0;
  if (slurmdb_connection_commit(connection_, keep) == SLURM_SUCCESS) return {};
  Error error = write_error();
  error.code = ErrorCode::kOutcomeUnknown;  // slurmdbd may have committed without an answer
  return failure(error);
}

SlurmList list_of(const std::vector<std::string>& texts) {
  SlurmList list(slurm_list_create(nullptr));
  for (const std::string& text : texts) slurm_list_append(list.get(), const_cast<char*>(text.c_str()));
  return list;
}

std::optional<std::uint64_t> tres_count(std::string_view tres, std::uint32_t id) {
  while (!tres.empty()) {
    const std::string_view one = tres.substr(0, tres.find(','));
    tres.remove_prefix(std::min(one.size() + 1, tres.size()));
    const auto equals = one.find('=');
    std::uint32_t found = 0;
    std::uint64_t count = 0;
    if (equals == std::string_view::npos) continue;
    std::from_chars(one.data(), one.data() + equals, found);
    const auto read = std::from_chars(one.data() + equals + 1, one.data() + one.size(), count);
    if (found == id && read.ec == std::errc{} && count != INFINITE64) return count;
  }
  return std::nullopt;
}

Error read_error() {
  const int code = errno;
  if (code == ESLURM_ACCESS_DENIED) return write_error();
  if (code == ESLURM_RESULT_TOO_LARGE || code == ESLURM_DB_QUERY_TOO_WIDE)
    return {ErrorCode::kTooLarge,
            "slurmdbd refuses so much at once" + reason(code),
            "Ask for a shorter span of time.",
            {{"slurm_code", std::to_string(code)}}};
  return {ErrorCode::kSlurmUnreachable,
          "slurmdbd did not answer" + reason(code),
          "Start slurmdbd (systemctl start slurmdbd) and run this again; nothing was changed.",
          {{"slurm_code", std::to_string(code)}}};
}

Error write_error() {
  const int code = errno;
  Error error{ErrorCode::kRejected,
              "slurmdbd refused" + reason(code),
              "Change it as the message says; no QoS that was there is changed.",
              {{"slurm_code", std::to_string(code)}}};
  if (code != ESLURM_ACCESS_DENIED) return error;
  error.text = "only an Administrator of Slurm may change QoS";
  error.remedy =
      "Run it as root, or ask the admin for the right: sacctmgr modify user NAME set adminlevel=Administrator";
  return error;
}

}  // namespace pounce::slurm
