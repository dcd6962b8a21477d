// Saved variables of this user's notebooks on this cluster: the rows that `pouncectl parked` shows, which of them the
// user means, and reading them, also when no pounced runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pounce/error.h"
#include "pounce/fields.h"
#include "pouncectl/output.h"
#include "saved_state/saved_states.h"

namespace pounce::ctl {

// One saved state as a row. Pure. Thread: any.
struct SavedStateRow {
  std::string id, notebook, host, python;
  std::uint64_t size = 0;
  std::int64_t cell = 0, saved_s = 0, used_s = 0;
  std::vector<std::string> variables, not_saved;
  std::string problem;

  static constexpr auto fields() {
    return table(field("id", &SavedStateRow::id),
                 field("notebook", &SavedStateRow::notebook, "its path, or its kernel's folder"),
                 field("host", &SavedStateRow::host, "where the kernel ran, which made it"),
                 field("python", &SavedStateRow::python, "the kernel's version"),
                 field("size", &SavedStateRow::size, "bytes of its files"),
                 field("cell", &SavedStateRow::cell, "the last one that it has the work of"),
                 field("saved_s", &SavedStateRow::saved_s, "since 1970; 0: nothing was saved yet"),
                 field("used_s", &SavedStateRow::used_s, "when it was saved, or a worker took it up"),
                 field("variables", &SavedStateRow::variables),
                 field("not_saved", &SavedStateRow::not_saved, "names of what cannot be"),
                 field("problem", &SavedStateRow::problem, "why it cannot be read; empty: it can"));
  }
};

std::string saved_states_table(const std::vector<SavedStateRow>& rows, std::int64_t now_s);

// The rows whose ids have one of these prefixes. kBadRequest lists the existing ids.
Result<std::vector<SavedStateRow>> saved_states_named(const std::vector<SavedStateRow>& rows,
                                                      const std::vector<std::string>& beginnings);
// The rows last used before `then_s`, without those of unknown use.
std::vector<SavedStateRow> last_used_before(const std::vector<SavedStateRow>& rows, std::int64_t then_s);

std::string saved_states_sum(const std::vector<SavedStateRow>& rows);  // "3 saved states, 412.0 MB"

// The saved states of this user on this cluster. Blocking. Thread: main.

// nullopt: nothing was ever saved here.
Result<std::optional<saved_state::SavedStates>> saved_states_folder();

// Newest first; includes unreadable states with the reason.
std::vector<SavedStateRow> saved_state_rows(const saved_state::SavedStates& folder);

}  // namespace pounce::ctl
