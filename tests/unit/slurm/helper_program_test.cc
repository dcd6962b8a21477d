#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "slurm/helper_process.h"

namespace pounce::slurm {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// A home and an installation, with libraries that are here and others that are not.
class HelperProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(programs);
    ::setenv("HOME", home.c_str(), 1);
    ::unsetenv("XDG_DATA_HOME");
    std::ofstream(here) << "a library";
  }
  void TearDown() override { fs::remove_all(root); }

  // As `pouncectl setup` leaves it; age: of the program.
  std::string built(const std::string& base, int number, const fs::path& library, std::chrono::hours age = 0h) {
    const fs::path folder = helper_folder(base, number), program = folder / kHelperName;
    fs::create_directories(folder);
    std::ofstream(program) << "a program";
    fs::permissions(program, fs::perms::owner_all);
    fs::last_write_time(program, fs::file_time_type::clock::now() - age);
    fs::create_symlink(library, folder / kLibraryLink);
    return program.string();
  }

  fs::path root = fs::temp_directory_path() / ("helper_program_test." + std::to_string(::getpid()));
  fs::path home = root / "home", programs = root / "env/bin", here = root / "libslurm.so.38",
           gone = root / "libslurm.so.36";
};

TEST_F(HelperProgramTest, WithoutASetupItIsTheOneBesideTheOtherPrograms) {
  EXPECT_EQ(find_helper(programs), (programs / "pounce-slurm").string());
}

TEST_F(HelperProgramTest, TheUsersOwnGoesBeforeTheInstallations) {
  built(installations_base(programs), 38, here);
  const std::string own = built(users_base(), 38, here, 5h);
  EXPECT_EQ(find_helper(programs), own);
}

TEST_F(HelperProgramTest, OneForALibraryThatIsNotOnThisMachineIsPassedOver) {
  built(users_base(), 36, gone);
  const std::string fits = built(installations_base(programs), 38, here);
  EXPECT_EQ(find_helper(programs), fits);
}

TEST_F(HelperProgramTest, OfSeveralThatFitTheNewestIsTaken) {
  built(users_base(), 38, here, 5h);
  const std::string newest = built(users_base(), 41, here);
  EXPECT_EQ(find_helper(programs), newest);
}

TEST_F(HelperProgramTest, WhatIsPreloadedIsWhatItsFolderNames) {
  const std::string program = built(users_base(), 38, here);
  EXPECT_EQ(full_library_for(program), "");
  fs::create_symlink(here, fs::path(program).parent_path() / kFullLibraryLink);
  EXPECT_EQ(full_library_for(program), (fs::path(program).parent_path() / kFullLibraryLink).string());
}

}  // namespace
}  // namespace pounce::slurm
