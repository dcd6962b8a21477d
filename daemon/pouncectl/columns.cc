#include "pouncectl/columns.h"

#include <algorithm>

#include "base/printable.h"
#include "pouncectl/display_width.h"

namespace pounce::ctl {
namespace {

bool says_something(const std::vector<Cells>& rows, std::size_t column) {
  return std::any_of(rows.begin() + 1, rows.end(), [column](const Cells& row) { return !row[column].empty(); });
}

std::size_t width_of(const std::vector<Cells>& rows, std::size_t column) {
  std::size_t width = 1;
  for (const Cells& row : rows) width = std::max(width, display_width(row[column]));
  return width;
}

std::vector<Cells> all_printable(std::vector<Cells> rows) {
  for (Cells& row : rows)
    for (std::string& cell : row) cell = printable(cell);
  return rows;
}

std::string laid_out(const std::vector<Cells>& rows) {
  std::vector<std::string> lines(rows.size());
  for (std::size_t column = 0; column < rows.front().size(); ++column) {
    if (!says_something(rows, column)) continue;
    const std::size_t width = width_of(rows, column);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::string cell = rows[i][column].empty() ? "-" : rows[i][column];
      lines[i] += (lines[i].empty() ? "" : "  ") + cell + std::string(width - display_width(cell), ' ');
    }
  }
  std::string text;
  for (std::string& line : lines) {
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace

// Cells are untrusted text: names of jobs and users, reasons and comments come from other users.
std::string columns(const std::vector<Cells>& rows) { return laid_out(all_printable(rows)); }

}  // namespace pounce::ctl
