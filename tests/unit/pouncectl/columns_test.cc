// Columns stand under each other on a terminal: they used to count bytes.
#include <gtest/gtest.h>
#include <locale.h>

#include "base/text.h"
#include "pouncectl/lease_row.h"
#include "pouncectl/output.h"

namespace pounce::ctl {
namespace {

TEST(DisplayWidthTest, CountsLettersNotBytes) {
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("plain"), 5u);
  EXPECT_EQ(display_width("äöü"), 3u);
  EXPECT_EQ(display_width("a\u0308o\u0308u\u0308"), 3u) << "marks that combine take no column";
  EXPECT_EQ(display_width("実験 1"), 6u) << "East Asian letters take two";
}

TEST(DisplayWidthTest, WhatIsNoUtf8TakesAColumnForEachByte) {
  EXPECT_EQ(display_width("\xff\xfe"), 2u);
  EXPECT_EQ(display_width("a\xc3"), 2u) << "cut off within a letter";
  EXPECT_EQ(display_width(std::string_view("a\0b", 3)), 3u);
}

TEST(DisplayWidthTest, TheUsersOwnLocaleStaysAsItWas) {
  const locale_t before = ::uselocale(locale_t{});

  display_width("ä");

  EXPECT_EQ(::uselocale(locale_t{}), before);
}

TEST(ColumnsTest, StandUnderEachOtherWhateverTheScript) {
  EXPECT_EQ(columns({{"NAME", "STATE"}, {"Zoë", "queued"}, {"e\u0301te\u0301", "idle"}, {"実験", "busy"}}),
            "NAME  STATE\n"
            "Zoë   queued\n"
            "e\u0301te\u0301   idle\n"
            "実験  busy\n");
}

TEST(ColumnsTest, AnEmptyColumnIsLeftOutAndAnEmptyCellSaysSo) {
  EXPECT_EQ(columns({{"A", "B", "C"}, {"ä", "", "1"}, {"b", "", ""}}), "A  C\nä  1\nb  -\n");
}

TEST(QueueTableTest, WhatSlurmSaysActsOnNoTerminalAndStandsInColumns) {
  protocol::QueueIs queue;
  EXPECT_EQ(queue_table(queue), "no jobs of pounce\n");
  queue.rows.resize(1);
  queue.rows[0].job = 7;
  queue.rows[0].class_name = "a_class_with_a_long_name";
  queue.rows[0].state = "queued";
  queue.rows[0].reason = "Held\x1b[2J";
  EXPECT_EQ(queue_table(queue),
            "JOB  CLASS                     STATE   REASON\n"
            "7    a_class_with_a_long_name  queued  " +
                printable("Held\x1b[2J") + "\n");
}

}  // namespace
}  // namespace pounce::ctl
