#include "worker/common/bounded_log.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "base/unique_fd.h"

namespace pounce::worker {
namespace {

class BoundedLogTest : public testing::Test {
 protected:
  void append(std::string_view bytes) { append_to_log(log.get(), bytes); }
  void append_lines(std::size_t bytes) {
    for (std::size_t written = 0; written < bytes; written += kLine.size()) append(kLine);
  }
  std::string whole() {
    struct stat facts{};
    EXPECT_EQ(::fstat(log.get(), &facts), 0);
    std::string text(static_cast<std::size_t>(facts.st_size), '\0');
    EXPECT_EQ(::pread(log.get(), text.data(), text.size(), 0), facts.st_size);
    return text;
  }
  // How many bytes its first line says are missing, and how many stand behind that line.
  std::pair<std::size_t, std::size_t> missing_and_kept() {
    const std::string text = whole();
    const std::string begin = "pounce: removed_bytes=";
    EXPECT_TRUE(text.starts_with(begin)) << text.substr(0, 80);
    return {std::stoul(text.substr(begin.size(), 20)), text.size() - text.find('\n') - 1};
  }

  const std::string kLine = std::string(64 * 1024 - 1, 'x') + "\n";
  UniqueFd log{::memfd_create("log", 0)};
};

TEST_F(BoundedLogTest, KeepsAllUpToTheLimit) {
  append_lines(kLogBytes);
  EXPECT_EQ(whole().size(), kLogBytes);
}

TEST_F(BoundedLogTest, EndsALineThatAKilledRunHasLeftOpen) {
  append("the first run says: the time is nearly ov");
  end_open_line(log.get());
  append("the second run\n");
  EXPECT_EQ(whole(), "the first run says: the time is nearly ov\nthe second run\n");
}

TEST_F(BoundedLogTest, HasNoLineToEndWhereNothingWasPrintedOrALineHasEnded) {
  end_open_line(log.get());
  EXPECT_EQ(whole(), "");
  append("a line\n");
  end_open_line(log.get());
  EXPECT_EQ(whole(), "a line\n");
}

TEST_F(BoundedLogTest, SaysHowManyBytesAreMissing) {
  append_lines(kLogBytes);
  append("over\n");
  const auto [missing, kept] = missing_and_kept();
  EXPECT_EQ(missing + kept, kLogBytes + 5);
  EXPECT_LE(kept, kLogKeptBytes);
}

// Who follows the file counts from its very beginning.
TEST_F(BoundedLogTest, CountsWhatWasMissingBeforeWhenItIsShortenedAgain) {
  append_lines(5 * kLogBytes);
  const auto [missing, kept] = missing_and_kept();
  EXPECT_EQ(missing + kept, 5 * kLogBytes);
}

TEST_F(BoundedLogTest, TakesALineThatOnlyBeginsLikeItsOwnAsPrinted) {
  append("pounce: removed_bytes=12345 and more\n");
  append_lines(kLogBytes);
  const auto [missing, kept] = missing_and_kept();
  EXPECT_EQ(missing + kept, kLogBytes + 37);
}

TEST_F(BoundedLogTest, LeavesWhatIsNoFileAlone) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd reader(ends[0]), writer(ends[1]);
  append_to_log(writer.get(), "text");
  char got[8];
  EXPECT_EQ(::read(reader.get(), got, sizeof got), 4);
}

}  // namespace
}  // namespace pounce::worker
