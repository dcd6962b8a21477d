// pouncectl parked: the saved variables of this user's notebooks, a list of them and removing some.

#include "pouncectl/parked.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <functional>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "model/json.h"
#include "parked/manifest.h"
#include "pouncectl/columns.h"
#include "pouncectl/commands.h"
#include "pouncectl/lease_row.h"
#include "pouncectl/output.h"
#include "pouncectl/queries.h"

namespace pounce::ctl {
namespace {

constexpr std::size_t kMostNames = 8, kMostShownBytes = 400;

std::string shown_ids(const std::vector<ParkedRow>& rows) {
  return joined(rows, ", ", [](const ParkedRow& row) { return short_id(row.id); });
}

std::string variables_words(const ParkedRow& row) {
  if (!row.problem.empty()) return row.problem;
  if (row.saved_s == 0) return "nothing is saved yet";
  const std::size_t shown = std::min(row.variables.size(), kMostNames);
  const std::vector<std::string> first(row.variables.begin(),
                                       row.variables.begin() + static_cast<std::ptrdiff_t>(shown));
  const std::string names = joined(first);
  return shown < row.variables.size() ? names + " and " + std::to_string(row.variables.size() - shown) + " more"
                                      : names;
}

Cells cells_of(const ParkedRow& row, std::int64_t now_s) {
  const std::string ago =
      row.saved_s == 0 ? "" : in_words(static_cast<double>(std::max<std::int64_t>(now_s - row.saved_s, 0))) + " ago";
  const std::string cell = row.saved_s == 0 || !row.problem.empty() ? "" : std::to_string(row.cell);
  std::string words = variables_words(row);
  if (words.size() > kMostShownBytes) words = words.substr(0, kMostShownBytes) + "…";
  return {short_id(row.id), row.notebook.substr(row.notebook.rfind('/') + 1), byte_size(row.size), cell, ago, words};
}

tl::unexpected<Error> unknown(const std::string& what, const std::vector<ParkedRow>& rows) {
  return failure(ErrorCode::kBadRequest, what, rows.empty() ? "There is none." : "There are: " + shown_ids(rows) + ".");
}

}  // namespace

std::string parked_table(const std::vector<ParkedRow>& rows, std::int64_t now_s) {
  std::vector<Cells> table{{"ID", "NOTEBOOK", "SIZE", "AFTER CELL", "SAVED", "VARIABLES"}};
  for (const ParkedRow& row : rows) table.push_back(cells_of(row, now_s));
  return columns(table);
}

Result<std::vector<ParkedRow>> parked_named(const std::vector<ParkedRow>& rows,
                                            const std::vector<std::string>& beginnings) {
  std::vector<ParkedRow> found;
  for (const std::string& beginning : beginnings) {
    std::vector<ParkedRow> fits;
    std::ranges::copy_if(rows, std::back_inserter(fits),
                         [&](const ParkedRow& row) { return row.id.starts_with(beginning); });
    if (fits.empty()) return unknown("no saved state's id begins with \"" + beginning + "\"", rows);
    if (fits.size() > 1) return unknown("the ids of several saved states begin with \"" + beginning + "\"", fits);
    if (std::ranges::count(found, fits.front().id, &ParkedRow::id) == 0) found.push_back(fits.front());
  }
  return found;
}

std::vector<ParkedRow> parked_before(const std::vector<ParkedRow>& rows, std::int64_t then_s) {
  std::vector<ParkedRow> found;
  std::ranges::copy_if(rows, std::back_inserter(found),
                       [&](const ParkedRow& row) { return row.used_s > 0 && row.used_s < then_s; });
  return found;
}

std::string parked_sum(const std::vector<ParkedRow>& rows) {
  std::uint64_t bytes = 0;
  for (const ParkedRow& row : rows) bytes += row.size;
  return std::to_string(rows.size()) + (rows.size() == 1 ? " saved state, " : " saved states, ") + byte_size(bytes);
}

namespace {

using nlohmann::json;

void note(ParkedRow& row, const Error& error) {
  if (row.problem.empty()) row.problem = error.text;
}

void read_about(const parked::SavedState& state, ParkedRow& row) {
  const auto text = state.about();
  const auto about = text ? parked::read_about(*text) : failure(text.error());
  if (!about) return note(row, about.error());
  row.notebook = about->notebook;
  row.host = about->host;
  row.python = about->python;
}

void read_manifest(const parked::SavedState& state, ParkedRow& row) {
  const auto text = state.manifest();
  if (!text) return note(row, text.error());
  if (!*text) return;
  const auto manifest = parked::read_manifest(**text);
  if (!manifest) return note(row, manifest.error());
  row.cell = manifest->cell;
  row.variables = parked::variables_of(*manifest);
  for (const auto& [name, why] : manifest->unparkable) row.not_saved.push_back(name);
}

ParkedRow row_of(const parked::ParkedFolder& folder, const std::string& id) {
  ParkedRow row;
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

Result<std::optional<parked::ParkedFolder>> parked_folder() {
  const auto where = path();
  if (!where) return failure(where.error());
  return parked::ParkedFolder::open(*where);
}

std::vector<ParkedRow> parked_rows(const parked::ParkedFolder& folder) {
  std::vector<ParkedRow> rows;
  for (const std::string& id : folder.ids()) rows.push_back(row_of(folder, id));
  std::ranges::stable_sort(rows, std::ranges::greater{}, &ParkedRow::saved_s);
  return rows;
}

namespace {

using nlohmann::json;
using parked::ParkedFolder;

constexpr std::size_t kFilesAtOnce = 1000;

struct Known {
  std::optional<ParkedFolder> folder;
  std::vector<ParkedRow> rows;
};

Result<Known> known() {
  auto folder = parked_folder();
  if (!folder) return failure(folder.error());
  Known found{std::move(*folder), {}};
  if (found.folder) found.rows = parked_rows(*found.folder);
  return found;
}

Result<std::vector<ParkedRow>> chosen(const ParkedOptions& options, const std::vector<ParkedRow>& rows) {
  if (options.all) return rows;
  if (options.older.empty()) return parked_named(rows, options.ids);
  const auto span = seconds_of(options.older);
  if (!span) return failure(span.error());
  return parked_before(rows, std::time(nullptr) - *span);
}

// On standard error, so that standard output has only the result.
bool agreed(const std::vector<ParkedRow>& rows) {
  std::cerr << parked_table(rows, std::time(nullptr)) << "Remove " << parked_sum(rows) << ", for good? [y/N] "
            << std::flush;
  std::string answer;
  return std::getline(std::cin, answer) && (answer == "y" || answer == "yes");
}

Result<void> remove(const ParkedFolder& folder, const std::string& id) {
  const auto aside = folder.put_aside(id);
  if (!aside) return failure(aside.error());
  auto left = ParkedFolder::Left::kMore;
  while (left == ParkedFolder::Left::kMore) left = folder.remove_some(*aside, kFilesAtOnce);
  if (left == ParkedFolder::Left::kNothing) return {};
  return failure(ErrorCode::kInternal, "not all files of " + *aside + " can be removed now",
                 "pounced tries again within an hour; the state itself is gone.");
}

// Without a folder there are no rows.
int remove_all(const std::optional<ParkedFolder>& folder, const std::vector<ParkedRow>& rows, bool json_wanted) {
  int code = kOk;
  json removed = json::array(), failed = json::array();
  for (const ParkedRow& row : rows) {
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
    std::cout << parked_table(found->rows, std::time(nullptr)) << parked_sum(found->rows) << '\n';
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
