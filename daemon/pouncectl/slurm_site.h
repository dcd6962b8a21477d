// Finds a machine's Slurm: the library, the headers, a compiler. Parsing is pure; the search reads files and executes
// nothing. Thread: main.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pounce/error.h"

namespace pounce::ctl {

struct SlurmLibrary {
  std::string path;     // "/usr/lib/x86_64-linux-gnu/libslurm.so.38"
  int number = 0;       // 38: libslurm's API number, which a program is linked to
  std::string release;  // "22.05", from the library's text; empty: not found
};

struct SlurmHeaders {
  std::string folder;   // contains slurm/slurm.h
  std::string release;  // "22.05"
};

// "libslurm.so.38" -> 38; nothing for other names.
std::optional<int> library_number(std::string_view file_name);
// The release in the text of a header; empty: none.
std::string release_of_header(std::string_view text);
// The only release ("22.05.8") in a library's bytes; empty: none, or several.
std::string release_in_library(std::string_view bytes);

// named: Slurm's installation folder; empty: searches beside its commands on PATH, then the system's library folders.
Result<SlurmLibrary> find_slurm_library(const std::string& named);
// headers: the folder with slurm/slurm.h; empty: searches beside the library, then the system's folders.
Result<SlurmHeaders> find_slurm_headers(const std::string& headers, const SlurmLibrary& library);
// $CXX, else the first of c++, g++, clang++ on PATH.
Result<std::string> find_compiler();

}  // namespace pounce::ctl
