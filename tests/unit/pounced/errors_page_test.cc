// docs/errors.md against the one list of codes in include/pounce/error.h, both ways.
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <vector>

#include "pounce/error.h"
#include "unit/pounced/scratch_folder.h"

namespace pounce {
namespace {

struct Row {
  std::string python, cause, remedy;
};

std::string bare(std::string cell) {
  const auto first = cell.find_first_not_of(" `"), last = cell.find_last_not_of(" `");
  return first == std::string::npos ? std::string() : cell.substr(first, last - first + 1);
}

std::map<std::string, Row> rows_of_the_page() {
  std::istringstream text(daemon::content_of(POUNCE_SOURCE_DIR "/docs/errors.md"));
  std::map<std::string, Row> rows;
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with("| `")) continue;
    std::istringstream cells(line.substr(1));
    std::vector<std::string> row;
    for (std::string cell; std::getline(cells, cell, '|');) row.push_back(bare(cell));
    if (row.size() == 4) rows[row[0]] = {row[1], row[2], row[3]};
  }
  return rows;
}

TEST(ErrorsPageTest, TellsClassAndRemedyOfEveryCodeAndOfNoOther) {
  auto rows = rows_of_the_page();
#define POUNCE_COMPARE(enumerator, wire, python_name, remedy_text)             \
  ASSERT_TRUE(rows.contains(wire)) << wire << " is missing in docs/errors.md"; \
  EXPECT_EQ(rows[wire].python, python_name) << wire;                           \
  EXPECT_EQ(rows[wire].remedy, remedy_text) << wire;                           \
  EXPECT_GT(rows[wire].cause.size(), 20u) << wire << " has no cause";          \
  rows.erase(wire);
  POUNCE_ERROR_CODES(POUNCE_COMPARE)
#undef POUNCE_COMPARE
  for (const auto& [wire, row] : rows) ADD_FAILURE() << "docs/errors.md tells of " << wire << ", which does not exist";
}

}  // namespace
}  // namespace pounce
