// The journal: what was written is read again, and damage costs no more than what is damaged and what follows it.
#include "pounced/storage/journal.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pounced/storage/file.h"
#include "unit/pounced/scratch_folder.h"

namespace pounce::daemon {
namespace {

using lease::JournalRecord;

LeaseId lease(int number) {
  std::array<std::uint8_t, LeaseId::kBytes> bytes{};
  bytes[7] = static_cast<std::uint8_t>(number);
  return LeaseId(bytes);
}

JournalRecord intent(int number) {
  JournalRecord record;
  record.kind = JournalRecord::Kind::kIntent;
  record.lease = lease(number);
  record.resources = {"cheetah", 1, "a100", 4, 8192, std::chrono::minutes(30)};
  record.resources.gpu_memory_mib = 20480;
  record.resources.cuda = 12040;
  record.resources.placement = Placement::kPack;
  record.resources.not_nodes = "g[1-2]";
  record.resources.account = "ml";
  record.resources.reservation = "course";
  record.resources.slurm = {{"nice", "5"}};
  record.session = *SessionId::from_hex("000102030405060708090a0b0c0d0e0f");
  record.request = RequestId{7};
  return record;
}

JournalRecord submitted(int number) {
  JournalRecord record;
  record.kind = JournalRecord::Kind::kSubmitted;
  record.lease = lease(number);
  record.job = {SlurmJobId{4711}, 1790000000, 2};
  return record;
}

JournalRecord ended(int number) {
  JournalRecord record;
  record.kind = JournalRecord::Kind::kEnded;
  record.lease = lease(number);
  record.why = {.code = CauseCode::kSaid, .said = "given back \"quoted\"\nand a second line"};
  return record;
}

class JournalTest : public testing::Test {
 protected:
  ScratchFolder folder;
  const std::string path = folder.file("journal");
};

TEST_F(JournalTest, GivesBackWhatWasAppended) {
  auto journal = Journal::open(path, {});
  ASSERT_TRUE(journal);
  for (const JournalRecord& record : {intent(1), submitted(1), ended(1)}) ASSERT_TRUE(journal->append(record, true));
  const JournalContent content = read_journal(path);
  EXPECT_EQ(content.records, (std::vector{intent(1), submitted(1), ended(1)}));
  EXPECT_EQ(content.damaged_bytes, 0u);
}

TEST_F(JournalTest, IsMadeAnewWhereSomebodyRemovesItWithTheLeasesThatAreOpen) {
  auto journal = Journal::open(path, {intent(1), submitted(1)});
  ASSERT_TRUE(journal);
  for (const JournalRecord& record : {intent(2), ended(1)}) ASSERT_TRUE(journal->append(record, true));
  EXPECT_FALSE(journal->repair());
  ASSERT_EQ(::unlink(path.c_str()), 0);

  EXPECT_TRUE(journal->repair());

  EXPECT_EQ(read_journal(path).records, std::vector{intent(2)});
  ASSERT_TRUE(journal->append(submitted(2), true));
  EXPECT_EQ(read_journal(path).records, (std::vector{intent(2), submitted(2)}));
}

TEST_F(JournalTest, AnIntentIsOnDiskAlsoWhereTheFileHasJustBeenRemoved) {
  auto journal = Journal::open(path, {intent(1)});
  ASSERT_TRUE(journal);
  ASSERT_EQ(::unlink(path.c_str()), 0);
  ASSERT_TRUE(journal->append(intent(2), true));
  EXPECT_EQ(read_journal(path).records, (std::vector{intent(1), intent(2)}));
}

// An intent was written to a file without a name, and its job submitted: a daemon that died then would not know of it.
TEST_F(JournalTest, AnIntentIsNotWrittenWhereTheRemovedFileCannotBeMadeAnew) {
  auto journal = Journal::open(path, {intent(1)});
  ASSERT_TRUE(journal);
  std::filesystem::remove_all(std::filesystem::path(path).parent_path());
  EXPECT_FALSE(journal->append(intent(2), true));
}

TEST_F(JournalTest, AnotherDaemonsFileInItsPlaceStaysAsItIs) {
  auto ours = Journal::open(path, {intent(1)});
  ASSERT_TRUE(ours);
  ASSERT_EQ(::unlink(path.c_str()), 0);
  auto theirs = Journal::open(path, {intent(9)});
  ASSERT_TRUE(theirs);

  EXPECT_TRUE(ours->append(intent(2), true));

  EXPECT_FALSE(ours->repair());
  EXPECT_EQ(read_journal(path).records, std::vector{intent(9)});
}

TEST_F(JournalTest, IsEmptyWhereThereIsNone) {
  EXPECT_TRUE(read_journal(path).records.empty());
  EXPECT_EQ(read_journal(path).damaged_bytes, 0u);
}

// What pounced never wrote must not cost its memory; it is put aside as what is damaged is.
TEST_F(JournalTest, OfAnUnreasonableSizeIsDamagedAndNotRead) {
  ASSERT_TRUE(Journal::open(path, {intent(1)}));
  std::filesystem::resize_file(path, kMostJournalBytes + 1);
  const JournalContent content = read_journal(path);
  EXPECT_TRUE(content.records.empty());
  EXPECT_EQ(content.damaged_bytes, kMostJournalBytes + 1);
}

// As protocol 1 wrote it: its job has other keys, and would be read as job 0.
TEST_F(JournalTest, SkipsALineOfAnotherKind) {
  const std::string old =
      R"({"crc32c":"bfff6790","record":{"job":{"id":4711,"restart":2,"submit_time_s":1790000000},"kind":"submitted","lease":"0000000000000001"}})";
  const JournalContent content = parse_journal(old + "\n" + encode_journal_line(intent(2)));
  EXPECT_EQ(content.records, std::vector{intent(2)});
  EXPECT_EQ(content.damaged_bytes, 0u);
}

// As an older pounced wrote it: words, and no cause.
TEST_F(JournalTest, ReadsAnEndThatHasWordsOnly) {
  const std::string old =
      R"({"crc32c":"18b36434","record":{"kind":"ended","lease":"0000000000000001","reason":"Given back.","v":2}})";
  const JournalContent content = parse_journal(old + "\n");
  ASSERT_EQ(content.records.size(), 1u);
  EXPECT_EQ(content.records[0].kind, JournalRecord::Kind::kEnded);
  EXPECT_EQ(content.records[0].lease, lease(1));
  EXPECT_EQ(content.damaged_bytes, 0u);
}

TEST_F(JournalTest, IsThisUsersAlone) {
  ASSERT_TRUE(Journal::open(path, {}));
  struct stat facts{};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0600u);
}

TEST_F(JournalTest, ForgetsEndedLeasesWhenItIsCompacted) {
  const auto open = open_records({intent(1), intent(2), submitted(1), submitted(2), ended(1)});
  EXPECT_EQ(open, (std::vector{intent(2), submitted(2)}));
  ASSERT_TRUE(Journal::open(path, open));
  EXPECT_EQ(read_journal(path).records, open);
}

// Text as it might come from Slurm: no UTF-8.
TEST_F(JournalTest, TakesBytesThatAreNoText) {
  JournalRecord record = ended(1);
  record.why = {.code = CauseCode::kSaid, .said = "\xff\xfe"};
  EXPECT_TRUE(decode_journal_line(encode_journal_line(record).substr(0, encode_journal_line(record).size() - 1)));
}

TEST_F(JournalTest, IsReadUpToTheDamageWhicheverByteIsFlipped) {
  const std::string first = encode_journal_line(intent(1)), second = encode_journal_line(submitted(1)),
                    third = encode_journal_line(ended(1));
  const std::string whole = first + second + third;
  for (std::size_t at = first.size(); at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      const JournalContent content = parse_journal(damaged);
      const std::size_t whole_lines = at < first.size() + second.size() ? 1 : 2;
      ASSERT_EQ(content.records.size(), whole_lines) << "byte " << at << " bit " << bit;
      ASSERT_EQ(content.records.front(), intent(1));
      ASSERT_GT(content.damaged_bytes, 0u);
    }
  }
}

TEST_F(JournalTest, IsReadUpToTheLastWholeLineWhereverItIsCut) {
  const std::string first = encode_journal_line(intent(1)), second = encode_journal_line(submitted(1));
  for (std::size_t size = 0; size <= first.size() + second.size(); ++size) {
    const JournalContent content = parse_journal((first + second).substr(0, size));
    const std::size_t whole_lines = (size >= first.size()) + (size >= first.size() + second.size());
    ASSERT_EQ(content.records.size(), whole_lines) << "cut at " << size;
  }
}

TEST_F(JournalTest, KeepsADamagedFileAside) {
  folder.write("journal", "damage");
  EXPECT_EQ(content_of(set_aside(path)), "damage");
  EXPECT_FALSE(std::filesystem::exists(path));
}

// The file may not grow by a whole line: as on a full disk, a part of it is written.
TEST_F(JournalTest, IsAsBeforeWhenALineDoesNotFit) {
  auto journal = Journal::open(path, {intent(1)});
  ASSERT_TRUE(journal);
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  ::getrlimit(RLIMIT_FSIZE, &old_limit);
  const rlimit small{encode_journal_line(intent(1)).size() + 10, old_limit.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto failed = journal->append(intent(2), true);
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  ::signal(SIGXFSZ, old_handler);
  EXPECT_FALSE(failed);
  ASSERT_TRUE(journal->append(intent(3), true));
  EXPECT_EQ(read_journal(path).records, (std::vector{intent(1), intent(3)}));
}

}  // namespace
}  // namespace pounce::daemon
