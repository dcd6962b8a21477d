// pouncectl parked: the saved variables of this user's notebooks, a list of them and removing some.

#include "pouncectl/parked.h"

#include <algorithm>
#include <ctime>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "model/json.h"
#include "pouncectl/commands.h"
#include "pouncectl/lease_row.h"
#include "pouncectl/queries.h"
#include "saved_state/manifest.h"

namespace pounce::ctl {
namespace {

constexpr std::size_t kMostNames = 8, kMostShownBytes = 400;

std::string shown_ids(const std::vector<SavedStateRow>& rows) {
  return joined(rows, ", ", [](const SavedStateRow& row) { return short_id(row.id); });
}

std::string variables_words(const SavedStateRow& row) {
  if (!row.problem.empty()) return row.problem;
  if (row.saved_s == 0) return "nothing is saved yet";
  const std::size_t shown = std::min(row.variables.size(), kMostNames);
  const std::vector<std::string> first(row.variables.begin(),
                                       row.variables.begin() + static_cast<std::ptrdiff_t>(shown));
  const std::string names = joined(first);
  return shown < row.variables.size() ? names + " and " + std::to_string(row.variables.size() - shown) + " more"
                                      : names;
}

Cells cells_of(const SavedStateRow& row, std::int64_t now_s) {
  const std::string ago =
      row.saved_s == 0 ? "" : in_words(static_cast<double>(std::max<std::int64_t>(now_s - row.saved_s, 0))) + " ago";
  const std::string cell = row.saved_s == 0 || !row.problem.empty() ? "" : std::to_string(row.cell);
  std::string words = variables_words(row);
  if (words.size() > kMostShownBytes) words = words.substr(0, kMostShownBytes) + "…";
  return {short_id(row.id), row.notebook.substr(row.notebook.rfind('/') + 1), byte_size(row.size), cell, ago, words};
}

tl::unexpected<Error> unknown(const std::string& what, const std::vector<SavedStateRow>& rows) {
  return failure(ErrorCode::kBadRequest, what, rows.empty() ? "There is none." : "There are: " + shown_ids(rows) + ".");
}

}  // namespace

std::string saved_states_table(const std::vector<SavedStateRow>& rows, std::int64_t now_s) {
  std::vector<Cells> table{{"ID", "NOTEBOOK", "SIZE", "AFTER CELL", "SAVED", "VARIABLES"}};
  for (const SavedStateRow& row : rows) table.push_back(cells_of(row, now_s));
  return columns(table);
}

Result<std::vector<SavedStateRow>> saved_states_named(const std::vector<SavedStateRow>& rows,
                                                      const std::vector<std::string>& beginnings) {
  std::vector<SavedStateRow> found;
  for (const std::string& beginning : beginnings) {
    std::vector<SavedStateRow> fits;
    std::ranges::copy_if(rows, std::back_inserter(fits),
                         [&](const SavedStateRow& row) { return row.id.starts_with(beginning); });
    if (fits.empty()) return unknown("no saved state's id begins with \"" + beginning + "\"", rows);
    if (fits.size() > 1) return unknown("the ids of several saved states begin with \"" + beginning + "\"", fits);
    if (std::ranges::count(found, fits.front().id, &SavedStateRow::id) == 0) found.push_back(fits.front());
  }
  return found;
}

std::vector<SavedStateRow> last_used_before(const std::vector<SavedStateRow>& rows, std::int64_t then_s) {
  std::vector<SavedStateRow> found;
  std::ranges::copy_if(rows, std::back_inserter(found),
                       [&](const SavedStateRow& row) { return row.used_s > 0 && row.used_s < then_s; });
  return found;
}

std::string saved_states_sum(const std::vector<SavedStateRow>& rows) {
  std::uint64_t bytes = 0;
  for (const SavedStateRow& row : rows) bytes += row.size;
  return std::to_string(rows.size()) + (rows.size() == 1 ? " saved state, " : " saved states, ") + byte_size(bytes);
}

namespace {

using nlohmann::json;

void note(SavedStateRow& row, const Error& error) {
  if (row.problem.empty()) row.problem = error.text;
}

void read_about(const saved_state::SavedState& state, SavedStateRow& row) {
  const auto text = state.about();
  const auto about = text ? saved_state::read_about(*text) : failure(text.error());
  if (!about) return note(row, about.error());
  row.notebook = about->notebook;
  row.host = about->host;
  row.python = about->python;
}

void read_manifest(const saved_state::SavedState& state, SavedStateRow& row) {
  const auto text = state.manifest();
  if (!text) return note(row, text.error());
  if (!*text) return;
  const auto manifest = saved_state::read_manifest(**text);
  if (!manifest) return note(row, manifest.error());
  row.cell = manifest->cell;
  row.variables = saved_state::variables_of(*manifest);
  for (const auto& [name, why] : manifest->unparkable) row.not_saved.push_back(name);
}

SavedStateRow row_of(const saved_state::SavedStates& folder, const std::string& id) {
  SavedStateRow row;
  row.id = id;
  const auto state = folder.state(id);
  if (!state) {
    note(row, state.error());
    return row;
  }
  row.size = state->bytes();
  row.saved_s = state->saved_s().value_or(0);
  row.used_s = state->used_s().value_or(0);
  read_manifest(*state, row);
  read_about(*state, row);
  return row;
}

Result<std::string> path() {
  const json where = json::parse(output_of({sibling("pounced"), "where"}), nullptr, false);
  if (where.is_object() && where.contains("parked")) return where.value("parked", "");
  const auto last = state_folder();
  if (!last) return failure(last.error());
  return (last->parent_path() / "parked").string();
}

}  // namespace

Result<std::optional<saved_state::SavedStates>> saved_states_folder() {
  const auto where = path();
  if (!where) return failure(where.error());
  return saved_state::SavedStates::open(*where);
}

std::vector<SavedStateRow> saved_state_rows(const saved_state::SavedStates& folder) {
  std::vector<SavedStateRow> rows;
  for (const std::string& id : folder.ids()) rows.push_back(row_of(folder, id));
  std::ranges::stable_sort(rows, std::ranges::greater{}, &SavedStateRow::saved_s);
  return rows;
}

namespace {

using nlohmann::json;
using saved_state::SavedStates;

constexpr std::size_t kFilesAtOnce = 1000;

struct Known {
  std::optional<SavedStates> folder;
  std::vector<SavedStateRow> rows;
};

Result<Known> known() {
  auto folder = saved_states_folder();
  if (!folder) return failure(folder.error());
  Known found{std::move(*folder), {}};
  if (found.folder) found.rows = saved_state_rows(*found.folder);
  return found;
}

Result<std::vector<SavedStateRow>> chosen(const ParkedOptions& options, const std::vector<SavedStateRow>& rows) {
  if (options.all) return rows;
  if (options.older.empty()) return saved_states_named(rows, options.ids);
  const auto span = seconds_of(options.older);
  if (!span) return failure(span.error());
  return last_used_before(rows, std::time(nullptr) - *span);
}

// On standard error, so that standard output has only the result.
bool agreed(const std::vector<SavedStateRow>& rows) {
  std::cerr << saved_states_table(rows, std::time(nullptr)) << "Remove " << saved_states_sum(rows)
            << ", for good? [y/N] " << std::flush;
  std::string answer;
  return std::getline(std::cin, answer) && (answer == "y" || answer == "yes");
}

Result<void> remove(const SavedStates& folder, const std::string& id) {
  const auto aside = folder.put_aside(id);
  if (!aside) return failure(aside.error());
  auto left = SavedStates::Left::kMore;
  while (left == SavedStates::Left::kMore) left = folder.remove_some(*aside, kFilesAtOnce);
  if (left == SavedStates::Left::kNothing) return {};
  return failure(ErrorCode::kInternal, "not all files of " + *aside + " can be removed now",
                 "pounced tries again within an hour; the state itself is gone.");
}

// Without a folder there are no rows.
int remove_all(const std::optional<SavedStates>& folder, const std::vector<SavedStateRow>& rows, bool json_wanted) {
  int code = kOk;
  json removed = json::array(), failed = json::array();
  for (const SavedStateRow& row : rows) {
    const auto done = remove(*folder, row.id);
    if (!done && !json_wanted) report(done.error(), false);
    if (!done) code = kFailed;
    (done ? removed : failed)
        .push_back(done ? json(row.id) : json{{"id", row.id}, {"error", model::to_json(done.error())}});
    if (done && !json_wanted) print_line(short_id(row.id) + "  removed");
  }
  if (rows.empty() && !json_wanted) std::cout << "there is nothing to remove\n";
  if (json_wanted) print_json({{"removed", removed}, {"failed", failed}});
  return code;
}

}  // namespace

int parked_list(bool json_wanted) {
  const auto found = known();
  if (!found) return report(found.error(), json_wanted);
  if (json_wanted) {
    print_json({{"parked", model::to_json(found->rows)}});
    return kOk;
  }
  if (found->rows.empty())
    std::cout << "no notebook has saved variables here\n";
  else
    std::cout << saved_states_table(found->rows, std::time(nullptr)) << saved_states_sum(found->rows) << '\n';
  return kOk;
}

int parked_rm(const ParkedOptions& options, bool json_wanted) {
  if (const auto span = seconds_of(options.older); !options.older.empty() && !span) {
    report(span.error(), json_wanted);
    return kUsage;
  }
  const auto found = known();
  if (!found) return report(found.error(), json_wanted);
  const auto rows = chosen(options, found->rows);
  if (!rows) return report(rows.error(), json_wanted);
  if (!rows->empty() && !options.yes && !agreed(*rows))
    return report(
        {ErrorCode::kBadRequest, "nothing was removed, for nobody said yes", "--yes removes without a question.", {}},
        json_wanted);
  return remove_all(found->folder, *rows, json_wanted);
}

}  // namespace pounce::ctl
