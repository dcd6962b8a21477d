// The bytes on the wire, pinned: golden/<type>.json holds one example of every message. A change of these files is a
// change of the protocol (docs/protocol.md, "Versions"). POUNCE_WRITE_GOLDEN=1 writes them anew, and then the test
// fails once.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "protocol/codec.h"
#include "protocol/message_limits.h"
#include "unit/protocol/examples.h"

namespace pounce::protocol {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(POUNCE_SOURCE_DIR) / "tests/unit/protocol/golden";

std::string golden(const std::string& type) {
  std::stringstream text;
  text << std::ifstream(kFolder / (type + ".json")).rdbuf();
  std::string bytes = text.str();
  if (bytes.ends_with('\n')) bytes.pop_back();  // the file's, for editors; not the message's
  return bytes;
}

TEST(GoldenTest, HasOneExampleOfEveryMessage) {
  const std::vector<Header> examples = one_of_each();

  ASSERT_EQ(examples.size(), std::variant_size_v<Header>);
  for (std::size_t i = 0; i < examples.size(); ++i) EXPECT_EQ(examples[i].index(), i) << type_of(examples[i]);
}

TEST(GoldenTest, EncodesEveryMessageToTheBytesOfItsFile) {
  for (const Header& example : one_of_each()) {
    const std::string type = type_of(example);
    if (std::getenv("POUNCE_WRITE_GOLDEN") != nullptr) {
      std::ofstream(kFolder / (type + ".json")) << encode(example) << '\n';
      ADD_FAILURE() << "golden/" << type
                    << ".json written anew: read the difference, then run again without the variable";
    }
    EXPECT_EQ(encode(example), golden(type)) << type;
  }
}

TEST(GoldenTest, DecodesTheBytesOfEveryFileToTheSameMessage) {
  for (const Header& example : one_of_each()) {
    const auto decoded = decode(golden(type_of(example)), kHeaderBytes);

    ASSERT_TRUE(decoded) << decoded.error().text;
    EXPECT_EQ(decoded->index(), example.index());
    EXPECT_EQ(encode(*decoded), encode(example));
  }
}

TEST(GoldenTest, HasNoFileOfAMessageThatIsGone) {
  std::set<std::string> types;
  for (const Header& example : one_of_each()) types.insert(type_of(example));

  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    EXPECT_TRUE(types.contains(entry.path().stem())) << entry.path();
}

}  // namespace
}  // namespace pounce::protocol
