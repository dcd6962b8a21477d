#include "pouncectl/parked_states.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "parked/manifest.h"
#include "pouncectl/program.h"
#include "pouncectl/state_folder.h"

namespace pounce::ctl {
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

}  // namespace pounce::ctl
