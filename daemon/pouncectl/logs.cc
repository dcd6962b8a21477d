// pouncectl logs: pounced's log, or that of a lease's job. Reads files, so it needs no daemon. Without one, the files
// are those of this instance's last daemon or, after a reboot, of the newest instance beside it.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/text.h"
#include "pouncectl/commands.h"
#include "pouncectl/lease_row.h"
#include "pouncectl/output.h"
#include "pouncectl/queries.h"

namespace pounce::ctl {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::chrono::milliseconds kLook{200};
constexpr std::streamoff kEndBytes = 4 * 1024 * 1024;  // only the end of a long log is read

Result<fs::path> lease_log(const fs::path& folder, const std::string& beginning) {
  std::vector<LeaseRow> known;
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(folder / "leases", absent))
    if (entry.path().extension() == ".log") {
      known.emplace_back();
      known.back().lease = entry.path().stem().string();
    }
  std::ranges::sort(known, {}, &LeaseRow::lease);
  const auto found = named(known, {beginning});
  if (!found) return failure(found.error());
  return folder / "leases" / (found->front().lease + ".log");
}

struct Lines {
  std::vector<std::string> text;
  std::streamoff next = 0;  // the offset of the next line
};

// whole: skips a line that has no end yet.
Lines lines_from(std::ifstream& file, std::streamoff from, bool whole) {
  Lines lines{{}, from};
  file.seekg(from);
  for (std::string line; std::getline(file, line) && !(whole && file.eof());) {
    lines.next += static_cast<std::streamoff>(line.size()) + 1;
    lines.text.push_back(std::move(line));
  }
  return lines;
}

Lines last_lines(std::ifstream& file, int most, bool whole) {
  file.seekg(0, std::ios::end);
  Lines lines = lines_from(file, std::max<std::streamoff>(file.tellg() - kEndBytes, 0), whole);
  const auto surplus = std::max<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(lines.text.size()) - most, 0);
  lines.text.erase(lines.text.begin(), lines.text.begin() + surplus);
  return lines;
}

// Escapes control characters: a task may print them, and pounced's log may contain other users' words. Cuts nothing:
// a log is bounded.
void show(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) std::cout << printable(line, 4 * kEndBytes) << '\n';
  std::cout.flush();
}

bool same_file(const struct stat& one, const struct stat& other) {
  return one.st_ino == other.st_ino && one.st_size <= other.st_size;
}

// Runs until interrupted. A log that was rotated or truncated is read again from its beginning.
[[noreturn]] void follow(const fs::path& path, std::streamoff from) {
  struct stat before{}, now{};
  ::stat(path.c_str(), &before);
  while (true) {
    if (::stat(path.c_str(), &now) == 0) {
      if (!same_file(before, now)) from = 0;
      before = now;
      std::ifstream file(path);
      const Lines lines = lines_from(file, from, true);
      show(lines.text);
      from = lines.next;
    }
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace

int logs(const LogOptions& options, bool json_wanted) {
  const auto folder = state_folder();
  if (!folder) return report(folder.error(), json_wanted);
  const auto path =
      options.lease.empty() ? Result<fs::path>(*folder / "pounced.log") : lease_log(*folder, options.lease);
  if (!path) return report(path.error(), json_wanted);
  std::ifstream file(*path);
  if (!file) return report(Error{ErrorCode::kInternal, path->string() + " cannot be read", {}, {}}, json_wanted);
  const Lines lines = last_lines(file, options.lines, options.follow);
  if (json_wanted) {
    const json document = {{"log", path->string()}, {"lines", lines.text}};
    print_json(document);
    return kOk;
  }
  show(lines.text);
  if (options.follow) follow(*path, lines.next);
  return kOk;
}

}  // namespace pounce::ctl
