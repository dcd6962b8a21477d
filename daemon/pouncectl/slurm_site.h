// Where a machine has its Slurm: the library, the headers, a compiler. The parsing is pure; the finding looks at files and
// executes nothing. Thread: main.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pounce/result.h"

namespace pounce::ctl {

struct SlurmLibrary {
  std::string path;     // "/usr/lib/x86_64-linux-gnu/libslurm.so.38"
  int number = 0;       // 38: libslurm's API, which a program is linked to
  std::string release;  // "22.05", by the text in the library; empty: none was found in it
};

struct SlurmHeaders {
  std::string folder;   // with slurm/slurm.h in it
  std::string release;  // "22.05"
};

// "libslurm.so.38" -> 38; other names: nothing.
std::optional<int> library_number(std::string_view file_name);
// Of the text of the header that says the release; empty: it does not.
std::string release_of_header(std::string_view text);
// Of a library's bytes: the one release ("22.05.8") that stands alone in them; empty: none, or several.
std::string release_in_library(std::string_view bytes);

// named: the folder that Slurm was installed into; empty: beside its commands on PATH, then where systems put libraries.
Result<SlurmLibrary> find_slurm_library(const std::string& named);
// headers: the folder that has slurm/slurm.h; empty: beside the library, then the system's.
Result<SlurmHeaders> find_slurm_headers(const std::string& headers, const SlurmLibrary& library);
// $CXX, else the first of c++, g++, clang++ on PATH.
Result<std::string> find_compiler();

}  // namespace pounce::ctl
