// docs/protocol.md against the code: every message with exactly its fields, and nothing that does not exist.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "protocol/codec.h"
#include "protocol/limits.h"
#include "unit/protocol/examples.h"

namespace pounce::protocol {
namespace {

using nlohmann::json;
using Fields = std::set<std::string>;

std::string page() {
  std::stringstream text;
  text << std::ifstream(POUNCE_SOURCE_DIR "/docs/protocol.md").rdbuf();
  return text.str();
}

std::vector<std::string> cells_of(const std::string& row) {
  std::vector<std::string> cells;
  std::stringstream line(row.substr(1));
  for (std::string cell; std::getline(line, cell, '|');) {
    const auto begin = cell.find_first_not_of(' '), end = cell.find_last_not_of(' ');
    cells.push_back(begin == std::string::npos ? "" : cell.substr(begin, end - begin + 1));
  }
  return cells;
}

Fields words_in_code(const std::string& cell) {
  Fields words;
  std::stringstream parts(cell);
  std::string part;
  for (bool in_code = false; std::getline(parts, part, '`'); in_code = !in_code)
    if (in_code) words.insert(part);
  return words;
}

// First column (without backticks) to the words in code of column `column`, between the two comments that frame a table.
std::map<std::string, Fields> table(const std::string& name, std::size_t column) {
  const std::string text = page(), begin = "<!-- " + name + " begin -->", end = "<!-- " + name + " end -->";
  const auto from = text.find(begin) + begin.size();
  std::stringstream lines(text.substr(from, text.find(end) - from));
  std::map<std::string, Fields> rows;
  int line_number = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('|') || ++line_number <= 2) continue;  // the heading and its rule
    const auto cells = cells_of(line);
    std::string first = cells.at(0);
    std::erase(first, '`');
    EXPECT_TRUE(rows.emplace(first, words_in_code(cells.at(column))).second) << first << " twice";
  }
  return rows;
}

Fields keys_of(json object) {
  Fields keys;
  for (const auto& [key, value] : object.items())
    if (key != "v" && key != "type") keys.insert(key);
  return keys;
}

json encoded(const Header& header) { return json::parse(encode(header)); }

TEST(ProtocolDocTest, ListsEveryMessageWithExactlyItsFields) {
  std::map<std::string, Fields> expected;
  for (const Header& example : one_of_each()) expected[type_of(example)] = keys_of(encoded(example));

  EXPECT_EQ(table("messages", 2), expected);
}

TEST(ProtocolDocTest, ListsTheValuesInsideMessagesWithTheirFields) {
  const json want = encoded(Demand{kSession, {Want{}}})["wants"][0];
  const json row = encoded(QueueIs{1, {QueueRow{}}, {}, ""})["rows"][0];
  const json released = encoded(ReleaseIs{1, {ReleaseRow{}}})["rows"][0];
  const json status = encoded(LeaseStatus{});
  ClassesIs of_each{1, {ClassUse{}}, {GpuUse{}}, {}, ""};
  of_each.choices.emplace_back();
  const json classes = encoded(of_each);
  const json named = encoded(NamesAre{1, {NamedRow{}}, {}})["rows"][0];
  const std::map<std::string, Fields> expected{{"error", keys_of(encoded(Refused{})["error"])},
                                               {"resources", keys_of(want["resources"])},
                                               {"want", keys_of(want)},
                                               {"queue row", keys_of(row)},
                                               {"class row", keys_of(classes["classes"][0])},
                                               {"gpu row", keys_of(classes["gpus"][0])},
                                               {"limit", keys_of(status["limit"])},
                                               {"eta", keys_of(status["eta"])},
                                               {"choice", keys_of(classes["choices"][0])},
                                               {"release row", keys_of(released)},
                                               {"named row", keys_of(named)}};

  EXPECT_EQ(table("values", 1), expected);
}

TEST(ProtocolDocTest, GivesTheLimitsOfTheCode) {
  const std::string text = page();
  const auto expect = [&](const std::string& row) { EXPECT_NE(text.find(row), std::string::npos) << row; };

  expect("| frames in a message | " + std::to_string(kFramesPerMessage) + " |");
  expect("| hello, all frames together | " + std::to_string(kDoorMessageBytes / 1024) + " KiB |");
  expect("| header in the hall | " + std::to_string(kHallMessageBytes / 1024) + " KiB |");
  expect("| header on a data socket | " + std::to_string(kHeaderBytes / 1024) + " KiB |");
  expect("| payload of a chunk | " + std::to_string(kChunkBytes / 1024 / 1024) + " MiB |");
  expect("| pickle or buffer that may go inline | " + std::to_string(kInlineBytes / 1024 / 1024) + " MiB |");
  expect(" pounced introduced (`admit`) | " + std::to_string(kDataFrameBytes / 1024 / 1024) + " MiB |");
}

}  // namespace
}  // namespace pounce::protocol
