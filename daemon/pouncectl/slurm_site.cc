#include "pouncectl/slurm_site.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/text.h"

namespace pounce::ctl {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLibrary = "libslurm.so.";
constexpr char kMultiarch[] = POUNCE_MULTIARCH;  // "x86_64-linux-gnu", or empty

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

std::vector<std::string> folders_on_path() {
  std::vector<std::string> folders;
  const char* path = std::getenv("PATH");
  std::istringstream words(path != nullptr ? path : "");
  for (std::string folder; std::getline(words, folder, ':');)
    if (!folder.empty()) folders.push_back(folder);
  return folders;
}

std::string on_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0 ? name : std::string();
  for (const std::string& folder : folders_on_path())
    if (const fs::path program = fs::path(folder) / name; ::access(program.c_str(), X_OK) == 0) return program.string();
  return {};
}

void add_libraries_below(const fs::path& prefix, std::vector<fs::path>& folders) {
  if (*kMultiarch != '\0') folders.push_back(prefix / "lib" / kMultiarch);
  folders.push_back(prefix / "lib64");
  folders.push_back(prefix / "lib");
}

// Slurm's installation folder, found by its commands; symbolic links are followed.
fs::path prefix_of_commands() {
  for (const char* command : {"scontrol", "sinfo", "squeue", "sbatch"}) {
    std::error_code gone;
    const fs::path real = fs::canonical(on_path(command), gone);
    if (!gone) return real.parent_path().parent_path();
  }
  return {};
}

std::vector<fs::path> library_folders(const std::string& named) {
  std::vector<fs::path> folders;
  if (!named.empty()) {
    add_libraries_below(named, folders);
    folders.emplace_back(named);
    return folders;
  }
  if (const fs::path prefix = prefix_of_commands(); !prefix.empty()) add_libraries_below(prefix, folders);
  for (const char* prefix : {"/usr", "/usr/local", "/opt/slurm"}) add_libraries_below(prefix, folders);
  return folders;
}

// The newest library in a folder.
SlurmLibrary library_in(const fs::path& folder) {
  SlurmLibrary newest;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(folder, unreadable)) {
    const auto number = library_number(entry.path().filename().string());
    if (number && *number > newest.number && fs::exists(entry.path(), unreadable))
      newest = {entry.path().string(), *number, {}};
  }
  return newest;
}

std::string major_and_minor(std::string_view release) { return std::string(release.substr(0, release.rfind('.'))); }

// Matches "22.05.8": two digits, two digits, one or two digits.
bool is_release(std::string_view word) {
  if (word.size() < 7 || word.size() > 8 || word[2] != '.' || word[5] != '.') return false;
  for (std::size_t i = 0; i < word.size(); ++i)
    if (i != 2 && i != 5 && !is_digit(word[i])) return false;
  return true;
}

}  // namespace

std::optional<int> library_number(std::string_view file_name) {
  if (!file_name.starts_with(kLibrary)) return std::nullopt;
  const std::string_view digits = file_name.substr(kLibrary.size());
  int number = 0;
  const auto [end, trouble] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (trouble != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

std::string release_of_header(std::string_view text) {
  constexpr std::string_view kKey = "#define SLURM_VERSION_NUMBER 0x";
  const auto at = text.find(kKey);
  if (at == std::string_view::npos) return {};
  const std::string_view hex = text.substr(at + kKey.size(), 6);
  unsigned long number = 0;  // 0x160508: 22.5.8
  if (std::from_chars(hex.data(), hex.data() + hex.size(), number, 16).ec != std::errc()) return {};
  const auto two = [](unsigned long part) { return (part < 10 ? "0" : "") + std::to_string(part); };
  return two(number >> 16) + "." + two((number >> 8) & 0xff);
}

std::string release_in_library(std::string_view bytes) {
  std::set<std::string> found;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\0', at), bytes.size());
    if (const std::string_view word = bytes.substr(at, end - at); is_release(word)) found.insert(major_and_minor(word));
    at = end + 1;
  }
  return found.size() == 1 ? *found.begin() : std::string();
}

Result<SlurmLibrary> find_slurm_library(const std::string& named) {
  const auto folders = library_folders(named);
  for (const fs::path& folder : folders) {
    SlurmLibrary library = library_in(folder);
    if (library.number == 0) continue;
    library.release = release_in_library(bytes_of(library.path));
    return library;
  }
  return failure(
      ErrorCode::kNoSlurm,
      "there is no libslurm here: no libslurm.so with a number in " +
          joined(folders, ", ", [](const fs::path& folder) { return folder.string(); }),
      "Name the folder that Slurm was installed into (pouncectl setup --slurm DIR); without a Slurm nothing of this is "
      "needed: pounce.Client(launcher='local').");
}

Result<SlurmHeaders> find_slurm_headers(const std::string& headers, const SlurmLibrary& library) {
  std::vector<fs::path> folders;
  if (!headers.empty()) {
    folders.emplace_back(headers);
  } else {
    const fs::path lies_in = fs::path(library.path).parent_path();
    folders = {lies_in.parent_path() / "include", lies_in.parent_path().parent_path() / "include", "/usr/include",
               "/usr/local/include"};
  }
  for (const fs::path& folder : folders) {
    const std::string release = release_of_header(bytes_of(folder / "slurm/slurm_version.h"));
    if (release.empty() || ::access((folder / "slurm/slurm.h").c_str(), R_OK) != 0) continue;
    if (library.release.empty() || release == library.release) return SlurmHeaders{folder.string(), release};
    return failure(ErrorCode::kVersionMismatch,
                   "the headers in " + folder.string() + " are of Slurm " + release + " and " + library.path +
                       " is of " + library.release,
                   "Name the headers of Slurm " + library.release +
                       ": pouncectl setup --headers DIR, where DIR/slurm/slurm.h is.");
  }
  return failure(ErrorCode::kNoSlurm,
                 "Slurm's headers are not here: no slurm/slurm.h in " +
                     joined(folders, ", ", [](const fs::path& folder) { return folder.string(); }),
                 "Ask the admin for them (libslurm-dev, slurm-devel), or copy the folder slurm of a machine that has "
                 "them and name "
                 "the folder it lies in: pouncectl setup --headers DIR.");
}

Result<std::string> find_compiler() {
  const char* chosen = std::getenv("CXX");
  if (chosen != nullptr && *chosen) {
    if (std::string path = on_path(chosen); !path.empty()) return path;
    return failure(ErrorCode::kBadRequest, std::string("CXX names ") + chosen + ", which is no program here",
                   "Correct or unset CXX.");
  }
  for (const char* name : {"c++", "g++", "clang++"})
    if (std::string path = on_path(name); !path.empty()) return path;
  return failure(
      ErrorCode::kBadRequest, "there is no C++ compiler here: no c++, g++ or clang++ on PATH",
      "Load one (often: module load gcc), or name it: CXX=PATH pouncectl setup. It must know C++20: GCC 11 or newer.");
}

}  // namespace pounce::ctl
