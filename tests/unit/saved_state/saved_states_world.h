// A folder of saved states with files as old as a test wants them.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "unit/pounced/scratch_folder.h"

namespace pounce::saved_state {

class SavedStatesWorld {
 public:
  static constexpr char kId[] = "0123456789abcdef", kOther[] = "fedcba9876543210";

  SavedStatesWorld() {
    EXPECT_EQ(::mkdir(root().c_str(), 0700), 0);
    write("key", "k", 1);
  }

  std::string root() const { return scratch_.file("parked"); }
  std::string of(const std::string& name) const { return root() + "/" + name; }
  bool there(const std::string& name) const {
    return std::filesystem::exists(std::filesystem::symlink_status(of(name)));
  }

  void write(const std::string& name, const std::string& content, std::int64_t time_s) const {
    std::ofstream(of(name)) << content;
    EXPECT_EQ(::chmod(of(name).c_str(), 0600), 0);
    set_time(name, time_s);
  }
  void set_time(const std::string& name, std::int64_t time_s) const {
    const timespec times[] = {{time_s, 0}, {time_s, 0}};
    EXPECT_EQ(::utimensat(AT_FDCWD, of(name).c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
  }

  // As a kernel and a worker leave it.
  void save(const std::string& id, std::int64_t time_s, int epoch = 1) const {
    ::mkdir(of(id).c_str(), 0700);
    write(id + "/about.json", R"({"notebook": "/home/alice/fit.ipynb", "host": "login", "python": "3.11.2"})", time_s);
    write(id + "/owner-" + std::to_string(epoch), "", time_s);
    write(id + "/" + std::string(64, 'a'), "0123456789", time_s);
    write(id + "/manifest-" + std::to_string(epoch) + ".json",
          R"({"format": 1, "cell": )" + std::to_string(epoch) + R"(, "units": [{"names": ["a"]}]})", time_s);
  }

 private:
  daemon::ScratchFolder scratch_;
};

}  // namespace pounce::saved_state
