#include "pouncectl/slurm_site.h"

#include <gtest/gtest.h>

namespace pounce::ctl {
namespace {

using namespace std::string_literals;

TEST(SlurmSiteTest, ALibrarysNumberIsThatOfItsFile) {
  EXPECT_EQ(library_number("libslurm.so.38"), 38);
  for (const char* other :
       {"libslurm.so", "libslurm.so.38.0.0", "libslurmfull.so", "libslurm.so.", "libslurm_pmi.so.38"})
    EXPECT_EQ(library_number(other), std::nullopt) << other;
}

TEST(SlurmSiteTest, TheHeaderTellsItsRelease) {
  EXPECT_EQ(release_of_header("/* … */\n#define SLURM_VERSION_NUMBER 0x160508\n"), "22.05");
  EXPECT_EQ(release_of_header("#define SLURM_VERSION_NUMBER 0x180b00\n"), "24.11");
  EXPECT_EQ(release_of_header("#define SLURM_VERSION_NUM(a,b,c) 1\n"), "");
}

TEST(SlurmSiteTest, ALibraryTellsItsReleaseWhereThatStandsAlone) {
  EXPECT_EQ(release_in_library("abc\0slurm 22.05\0"s + "22.05.8\0more\0"s), "22.05");
  EXPECT_EQ(release_in_library("x\0"s + "23.11.10\0"s + "23.11.10\0"s), "23.11");
}

TEST(SlurmSiteTest, OfSeveralReleasesInALibraryNoneIsBelieved) {
  EXPECT_EQ(release_in_library("22.05.8\0"s + "23.02.1\0"s), "");
  EXPECT_EQ(release_in_library("1.2.3\0"s + "127.0.0.1\0"s), "");
}

}  // namespace
}  // namespace pounce::ctl
