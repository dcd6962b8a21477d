// docs/states.md is held to the code: the lease table and the reasons for ignoring. To write it anew after a change:
// run this test with POUNCE_WRITE_STATES=1 and read the difference. (Its other tables: tests/docs_tables.)
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "core/lease/defaults.h"
#include "core/lease/state.h"

namespace pounce::lease {
namespace {

std::string path() { return POUNCE_SOURCE_DIR "/docs/states.md"; }

std::string read_all() {
  std::ifstream file(path());
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string marker(const std::string& name, const char* edge) { return "<!-- " + name + " " + edge + " -->\n"; }

std::string section(const std::string& text, const std::string& name) {
  const auto begin = text.find(marker(name, "begin")), end = text.find(marker(name, "end"));
  if (begin == std::string::npos || end == std::string::npos) return "no section " + name;
  const auto start = begin + marker(name, "begin").size();
  return text.substr(start, end - start);
}

std::string cell_text(LeaseState state, Trigger trigger) {
  const Cell& answer = cell(state, trigger);
  if (answer.next == 0) return "*" + std::string(answer.ignored) + "*";
  std::string text;
  for (int next = 0; next < kLeaseStates; ++next) {
    if (!answer.allows(static_cast<LeaseState>(next))) continue;
    if (!text.empty()) text += ", ";
    text += static_cast<LeaseState>(next) == state ? "stays" : word(static_cast<LeaseState>(next));
  }
  return text;
}

std::string lease_table() {
  std::string table = "| trigger |", line = "|---|";
  for (int state = 0; state < kLeaseStates; ++state) {
    table += " " + std::string(word(static_cast<LeaseState>(state))) + " |";
    line += "---|";
  }
  table += "\n" + line + "\n";
  for (int trigger = 0; trigger < kTriggers; ++trigger) {
    table += "| " + std::string(word(static_cast<Trigger>(trigger))) + " |";
    for (int state = 0; state < kLeaseStates; ++state)
      table += " " + cell_text(static_cast<LeaseState>(state), static_cast<Trigger>(trigger)) + " |";
    table += "\n";
  }
  return table;
}

void write(const std::string& name, const std::string& content) {
  std::string text = read_all();
  const auto begin = text.find(marker(name, "begin")) + marker(name, "begin").size();
  text.replace(begin, text.find(marker(name, "end")) - begin, content);
  std::ofstream(path()) << text;
}

TEST(StatesDocTest, ShowsTheLeaseTableOfTheCode) {
  if (std::getenv("POUNCE_WRITE_STATES") != nullptr) write("lease-table", lease_table());
  EXPECT_EQ(section(read_all(), "lease-table"), lease_table());
}

TEST(StatesDocTest, EachKeyNamesItsUnitAndHasOneMember) {
  for (const ConfigKey& key : kConfigKeys) {
    EXPECT_NE(key.time == nullptr, key.number == nullptr) << key.name;
    if (key.time != nullptr) {
      EXPECT_TRUE(key.name.ends_with("_s") || key.name.ends_with("_ms")) << key.name;
    }
  }
}

TEST(StatesDocTest, EveryMemberOfDefaultsHasAKey) {
  std::size_t times = 0, numbers = 0;
  for (const ConfigKey& key : kConfigKeys) (key.time != nullptr ? times : numbers) += 1;
  EXPECT_EQ(sizeof(Defaults),
            times * sizeof(std::chrono::milliseconds) + (numbers + 1) / 2 * 2 * sizeof(std::uint32_t));
}

TEST(TableTest, AnswersEveryPairEitherWithStatesOrWithAReason) {
  for (int state = 0; state < kLeaseStates; ++state) {
    for (int trigger = 0; trigger < kTriggers; ++trigger) {
      const Cell& answer = cell(static_cast<LeaseState>(state), static_cast<Trigger>(trigger));
      EXPECT_NE(answer.next == 0, answer.ignored.empty()) << word(static_cast<Trigger>(trigger)) << " " << state;
    }
  }
}

TEST(TableTest, NothingLeavesTheEndedState) {
  for (int trigger = 0; trigger < kTriggers; ++trigger) {
    const Cell& answer = cell(LeaseState::kEnded, static_cast<Trigger>(trigger));
    for (int next = 0; next < static_cast<int>(LeaseState::kEnded); ++next)
      EXPECT_FALSE(answer.allows(static_cast<LeaseState>(next))) << word(static_cast<Trigger>(trigger));
  }
}

}  // namespace
}  // namespace pounce::lease
