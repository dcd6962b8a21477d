// The limits that docs/protocol.md gives are the code's. (Its tables are made from the code: tests/docs_tables.)
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "protocol/message_limits.h"

namespace pounce::protocol {
namespace {

std::string page() {
  std::stringstream text;
  text << std::ifstream(POUNCE_SOURCE_DIR "/docs/protocol.md").rdbuf();
  return text.str();
}

TEST(ProtocolDocTest, GivesTheLimitsOfTheCode) {
  const std::string text = page();
  const auto expect = [&](const std::string& row) { EXPECT_NE(text.find(row), std::string::npos) << row; };

  expect("| frames in a message | " + std::to_string(kFramesPerMessage) + " |");
  expect("| hello, all frames together | " + std::to_string(kHandshakeMessageBytes / 1024) + " KiB |");
  expect("| header on the control channel | " + std::to_string(kControlMessageBytes / 1024) + " KiB |");
  expect("| header on a data socket | " + std::to_string(kHeaderBytes / 1024) + " KiB |");
  expect("| objects of a task | " + std::to_string(kTaskObjects) + " |");
  expect("| payload of a chunk | " + std::to_string(kChunkBytes / 1024 / 1024) + " MiB |");
  expect("| pickle or buffer that may go inline | " + std::to_string(kInlineBytes / 1024 / 1024) + " MiB |");
  expect(" pounced introduced (`admit`) | " + std::to_string(kDataFrameBytes / 1024 / 1024) + " MiB |");
}

}  // namespace
}  // namespace pounce::protocol
