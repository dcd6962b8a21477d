#include "pouncectl/parked_row.h"

#include <algorithm>
#include <iterator>

#include "base/join.h"
#include "pouncectl/byte_size.h"
#include "pouncectl/lease_row.h"

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
  const std::vector<std::string> first(row.variables.begin(), row.variables.begin() + static_cast<std::ptrdiff_t>(shown));
  const std::string names = joined(first);
  return shown < row.variables.size() ? names + " and " + std::to_string(row.variables.size() - shown) + " more" : names;
}

Cells cells_of(const ParkedRow& row, std::int64_t now_s) {
  const std::string ago = row.saved_s == 0 ? "" : in_words(static_cast<double>(std::max<std::int64_t>(now_s - row.saved_s, 0))) + " ago";
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

Result<std::vector<ParkedRow>> parked_named(const std::vector<ParkedRow>& rows, const std::vector<std::string>& beginnings) {
  std::vector<ParkedRow> found;
  for (const std::string& beginning : beginnings) {
    std::vector<ParkedRow> fits;
    std::ranges::copy_if(rows, std::back_inserter(fits), [&](const ParkedRow& row) { return row.id.starts_with(beginning); });
    if (fits.empty()) return unknown("no saved state's id begins with \"" + beginning + "\"", rows);
    if (fits.size() > 1) return unknown("the ids of several saved states begin with \"" + beginning + "\"", fits);
    if (std::ranges::count(found, fits.front().id, &ParkedRow::id) == 0) found.push_back(fits.front());
  }
  return found;
}

std::vector<ParkedRow> parked_before(const std::vector<ParkedRow>& rows, std::int64_t then_s) {
  std::vector<ParkedRow> found;
  std::ranges::copy_if(rows, std::back_inserter(found), [&](const ParkedRow& row) { return row.used_s > 0 && row.used_s < then_s; });
  return found;
}

std::string parked_sum(const std::vector<ParkedRow>& rows) {
  std::uint64_t bytes = 0;
  for (const ParkedRow& row : rows) bytes += row.size;
  return std::to_string(rows.size()) + (rows.size() == 1 ? " saved state, " : " saved states, ") + byte_size(bytes);
}

}  // namespace pounce::ctl
