#include "base/log.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace pounce {
namespace {

class LogTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/pounce-test-XXXXXX";
    folder = ::mkdtemp(pattern);
    before = spdlog::default_logger();
    start_log("log-test", folder + "/pounced.log");
  }
  void TearDown() override {
    spdlog::drop("log-test");
    spdlog::set_default_logger(before);
    std::filesystem::remove_all(folder);
  }
  std::uintmax_t size() const {
    std::uintmax_t all = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder)) all += file.file_size();
    return all;
  }

  std::string folder;
  std::shared_ptr<spdlog::logger> before;
};

// A stranger once wrote 136 MB into it in 13 s.
TEST_F(LogTest, AFileIsBoundedWhileItIsWritten) {
  constexpr std::uintmax_t kBound = 2 * 8 * 1024 * 1024;
  const std::string line(1024, 'x');
  for (int written = 0; written < 40 * 1024; ++written) spdlog::info(line);
  EXPECT_GT(size(), kBound / 4);
  EXPECT_LE(size(), kBound + 128 * 1024);
}

TEST_F(LogTest, WhatIsSaidMakesNoLineOfItsOwn) {
  spdlog::info("type=hello\n2026-01-01T00:00:00 critical forged \x1b[31m");
  std::ifstream file(folder + "/pounced.log");
  std::string first, second;
  std::getline(file, first);
  EXPECT_FALSE(std::getline(file, second));
  EXPECT_EQ(first.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace pounce
