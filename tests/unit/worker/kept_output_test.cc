#include "worker/interpreter/kept_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/check.h"
#include "base/unique_fd.h"

namespace pounce::worker {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class KeptOutputTest : public testing::Test {
 protected:
  KeptOutputTest() {
    std::string name = testing::TempDir() + "kept-XXXXXX";
    POUNCE_CHECK(::mkdtemp(name.data()) != nullptr, "mkdtemp");
    folder = name;
  }
  ~KeptOutputTest() override { fs::remove_all(folder); }

  std::string content(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(folder / name, std::ios::binary).rdbuf();
    return text.str();
  }
  std::vector<std::string> outputs() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".out") names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }

  fs::path folder;
};

TEST_F(KeptOutputTest, KeepsTheOrderAndTheBytesAndWritesTheEndLast) {
  KeptOutput kept(folder, 1 << 20);
  kept.add("stdout", {"one\n"});
  kept.add("message", {"{}", std::string_view("\0\xff", 2)});
  kept.add("stderr", {"two"});
  EXPECT_EQ(kept.end("{\"ok\":true}", 60s), "");
  EXPECT_EQ(content("00000001.out"),
            std::string("{\"lines\":0,\"displays\":0}\n{\"kind\":\"stdout\",\"sizes\":[4]}\none\n"
                        "{\"kind\":\"message\",\"sizes\":[2,2]}\n{}") +
                std::string("\0\xff", 2) + "{\"kind\":\"stderr\",\"sizes\":[3]}\ntwo");
  EXPECT_EQ(content("end"), "{\"lines\":1,\"displays\":1}\n{\"ok\":true}");
  for (const char* name : {"00000001.out", "end", "beat"})
    EXPECT_EQ(fs::status(folder / name).permissions(), fs::perms::owner_read | fs::perms::owner_write) << name;
}

TEST_F(KeptOutputTest, TheOldestGoesAndTheCountOfWhatWentStays) {
  constexpr std::uint64_t kMost = 64 * 1024;
  KeptOutput kept(folder, kMost);
  const std::string line(999, 'x');
  for (int i = 0; i < 1000; ++i) kept.add("stdout", {line + "\n"});
  EXPECT_EQ(kept.end("{}", 60s), "");
  std::uint64_t bytes = 0;
  for (const auto& name : outputs()) bytes += fs::file_size(folder / name);
  EXPECT_LE(bytes, kMost);
  EXPECT_GT(bytes, kMost / 2);
  const std::string oldest = content(outputs().front());
  const auto before = std::stoul(oldest.substr(oldest.find(':') + 1));
  std::uint64_t there = 0;
  for (const auto& name : outputs()) {
    const std::string text = content(name);
    there += static_cast<std::uint64_t>(std::ranges::count(text.substr(text.find('\n') + 1), '\n')) / 2;
  }
  EXPECT_EQ(before + there, 1000u);
}

TEST_F(KeptOutputTest, WhatDoesNotFitIsCounted) {
  KeptOutput kept(folder, 4096);
  kept.add("stdout", {"one\n"});
  kept.add("message", {std::string(5000, 'x')});
  kept.add("stdout", {"two\n"});
  kept.end("{}", 60s);
  EXPECT_EQ(content("end"), "{\"lines\":2,\"displays\":1}\n{}");
}

TEST_F(KeptOutputTest, AFolderThatIsGoneStopsNothing) {
  KeptOutput kept(folder / "none", 4096);
  kept.add("stdout", {"one\n"});
  EXPECT_EQ(kept.end("{}", 60s), "No such file or directory");
}

TEST_F(KeptOutputTest, AnEndThatCannotBeWrittenIsTold) {
  fs::create_symlink("/dev/full", folder / ".end");  // a link is not followed
  KeptOutput kept(folder, 4096);
  EXPECT_NE(kept.end("{}", 60s), "");
}

TEST_F(KeptOutputTest, AFileSystemThatHangsHoldsNothingUp) {
  const fs::path hangs = folder / "beat";
  POUNCE_CHECK(::mkfifo(hangs.c_str(), 0600) == 0, "mkfifo");  // opening it waits for a reader
  {
    KeptOutput kept(folder, 4096);
    kept.add("stdout", {"one\n"});
    EXPECT_EQ(kept.end("{}", 10ms), "its file system does not answer");
  }
  const UniqueFd reader(::open(hangs.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));  // lets the writer go
  for (int looks = 0; looks < 6000 && !fs::exists(folder / "end"); ++looks) ::usleep(10'000);
  EXPECT_EQ(content("end"), "{\"lines\":1,\"displays\":0}\n{}");
}

}  // namespace
}  // namespace pounce::worker
