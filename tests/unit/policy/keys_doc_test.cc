// docs/policy.md and docs/policy.schema.json are held to the table of keys. To write the page anew after a change: run this
// test with POUNCE_WRITE_POLICY=1 and read the difference.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "policy/keys.h"

namespace pounce::policy {
namespace {

const std::string kPage = POUNCE_SOURCE_DIR "/docs/policy.md";
const std::string kBegin = "<!-- keys begin -->\n", kEnd = "<!-- keys end -->\n";

std::string read_all(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string reader_of(const Key& key) {
  if (key.reader == Reader::kNobody) return "-";
  return key.reader == Reader::kSlurm ? "plan, apply" : "pounced";
}

std::string table() {
  std::string text = "| key | is | meaning | of |\n|---|---|---|---|\n";
  for (const Key& key : keys())
    text += "| `" + std::string(key.path) + "` | " + std::string(words_of(key.form)) + " | " +
            std::string(key.meaning) + " | " + reader_of(key) + " |\n";
  return text;
}

// The paths that a schema has: members by name, any other member as "*".
void collect(const nlohmann::json& schema, const std::string& path, std::set<std::string>& found) {
  const auto below = [&](const std::string& name) { return path.empty() ? name : path + "." + name; };
  const auto members = schema.value("properties", nlohmann::json::object());
  for (const auto& [name, member] : members.items()) {
    found.insert(below(name));
    collect(member, below(name), found);
  }
  const auto any = schema.find("additionalProperties");
  if (any == schema.end() || !any->is_object()) return;
  found.insert(below("*"));
  collect(*any, below("*"), found);
}

TEST(KeysDocTest, ThePageHasEachKeyWithItsMeaning) {
  const std::string page = read_all(kPage);
  const auto begin = page.find(kBegin), end = page.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const auto start = begin + kBegin.size();
  if (std::getenv("POUNCE_WRITE_POLICY") != nullptr)
    std::ofstream(kPage) << page.substr(0, start) + table() + page.substr(end);
  EXPECT_EQ(page.substr(start, end - start), table());
}

TEST(KeysDocTest, TheSchemaHasTheSameKeys) {
  const auto schema = nlohmann::json::parse(read_all(POUNCE_SOURCE_DIR "/docs/policy.schema.json"));
  std::set<std::string> in_schema, in_table;
  collect(schema, "", in_schema);
  for (const Key& key : keys()) in_table.insert(std::string(key.path));
  EXPECT_EQ(in_schema, in_table);
}

TEST(NearestTest, IsTheFewestEditsAway) {
  EXPECT_EQ(nearest("walltme", {"qos", "walltime", "grace"}), "walltime");
  EXPECT_EQ(nearest("gracee", {"qos", "walltime", "grace"}), "grace");
  EXPECT_EQ(nearest("x", {}), "");
}

}  // namespace
}  // namespace pounce::policy
