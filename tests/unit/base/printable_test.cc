// What strangers write may not act on a terminal or pass for a line of ours.
#include <gtest/gtest.h>

#include "base/text.h"

namespace pounce {
namespace {

TEST(PrintableTest, LeavesOrdinaryTextOfAnyLanguageAsItIs) {
  for (const char* text : {"", "train.py --lr 1e-3", "Zürich", "数据", "🐆", "naïve – “quoted”"})
    EXPECT_EQ(printable(text), text);
}

TEST(PrintableTest, ShowsControlCharactersInsteadOfSendingThem) {
  EXPECT_EQ(printable("\x1b[31mred\x1b[0m"), "\\x1b[31mred\\x1b[0m");
  EXPECT_EQ(printable("one\n2026-01-01 critical forged\ttab\r"), "one\\n2026-01-01 critical forged\\ttab\\x0d");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\x7f\xc2\x9b"), "\\x7f\\xc2\\x9b") << "the control sequence introducer of eight bits";
}

TEST(PrintableTest, ShowsMarksThatTurnTheWritingAround) {
  EXPECT_EQ(printable("a\u202eb\u2066c\u2028d"), "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6c\\xe2\\x80\\xa8d");
}

TEST(PrintableTest, ShowsBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b") << "the long form of ESC";
  EXPECT_EQ(printable("\xe0\x80\x9b"), "\\xe0\\x80\\x9b");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(printable("cut \xe6\x95"), "cut \\xe6\\x95");
}

TEST(PrintableTest, CutsBetweenCharacters) {
  EXPECT_EQ(printable("数据数据", 7), "数据…");
  EXPECT_EQ(printable(std::string(5000, 'x')).size(), 4096 + std::string("…").size());
}

}  // namespace
}  // namespace pounce
