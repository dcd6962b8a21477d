// Why an interpreter died, as an Error for the user: what happened, and the evidence. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pounce/error.h"
#include "pounce/ids.h"

namespace pounce::worker {

struct Death {
  int wait_status = 0;          // of waitpid
  std::string node{};
  bool killed_for_memory = false;
  std::optional<std::uint64_t> memory_limit{};  // bytes
  bool gave_up = false;         // it ended itself, since its cancelled task did not stop
  bool was_ready = true;        // false: it died before it could take a task
  std::string command{};        // the interpreter's, for the message when it never ran
  std::string last_lines{};
  std::optional<TaskId> running{};
  std::optional<std::vector<TaskId>> started{};  // not acknowledged; nullopt: not known
  std::string key{};            // of its data socket, Z85; empty: it was never ready
  std::optional<Error> unfit{};  // set when it was ended because its GPUs cannot be used
};

Error death_report(const Death& death);
// The report of an interpreter that left because it was idle. started, key: as above.
Error departure_report(const Cause& why, const std::optional<std::vector<TaskId>>& started, const std::string& key);
// The last lines of a text, at most `lines` of them and `bytes` in all, without lines that the supervisor logged.
std::string tail_of(const std::string& text, std::size_t lines = 20, std::size_t bytes = 4000);

}  // namespace pounce::worker
