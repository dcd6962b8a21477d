// The list of C++ clients had drifted from Python's: no conda, no locale, no threads, no modules.
#include <gtest/gtest.h>

#include "client/client.h"

namespace pounce::client {
namespace {

TEST(TravellingTest, WhatActivationAndModulesSetTravels) {
  for (const char* name : {"PATH", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "LC_ALL", "LC_CTYPE", "OMP_NUM_THREADS",
                           "MKL_NUM_THREADS", "MODULEPATH", "LMOD_CMD", "_LMFILES_", "PYTHONHASHSEED"})
    EXPECT_TRUE(travels(name)) << name;
}

TEST(TravellingTest, NothingElseDoes) {
  for (const char* name :
       {"", "SLURM_JOB_ID", "SECRET_TOKEN", "PATHS", "MYPATH", "CONDA_", "OMP_*", "LC_A-B", "BASH_FUNC_x%%"})
    EXPECT_FALSE(travels(name)) << name;
}

TEST(TravellingTest, AnEnvironmentIsReadWithItsEmptyAndItsOddEntries) {
  const char* const environment[] = {"TZ=UTC", "TOKEN=s3cret", "CONDA_PROMPT_MODIFIER=(a=b) ", "LANG=", "odd", nullptr};

  EXPECT_EQ(travelling(environment),
            (std::map<std::string, std::string>{{"TZ", "UTC"}, {"CONDA_PROMPT_MODIFIER", "(a=b) "}, {"LANG", ""}}));
}

}  // namespace
}  // namespace pounce::client
