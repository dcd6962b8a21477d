// SPDX-License-Identifier: GPL-3.0-or-later
#include "runs_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include "base/bounded_file.h"
#include "base/unique_fd.h"
#include "base/write_all.h"

namespace pounce::slurm {
namespace {

constexpr std::size_t kMostBytes = 4 << 20;  // more than all kept runs take

std::string path() {
  const char* named = std::getenv("POUNCE_RUNS");
  return named != nullptr ? named : "";
}

}  // namespace

forecast::Runs read_runs() {
  forecast::Runs runs;
  std::istringstream file(read_end(path(), kMostBytes));
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    forecast::Run run;
    if (!(words >> run.job >> run.submit_s >> run.limit_s >> run.ran_s >> run.user)) continue;
    words >> run.class_name;  // empty without QoS
    runs.add(run);
  }
  return runs;
}

// Replaces the file atomically: this user's other daemons may read it at that moment. The last writer wins.
void write_runs(const forecast::Runs& runs) {
  const std::string file = path();
  if (file.empty()) return;
  std::ostringstream text;
  for (const forecast::Run& run : runs.all())
    text << run.job << ' ' << run.submit_s << ' ' << run.limit_s << ' ' << run.ran_s << ' ' << run.user << ' ' << run.class_name << '\n';
  const std::string next = file + "." + std::to_string(::getpid());
  const UniqueFd out(::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (out.get() >= 0 && write_all(out.get(), text.str()))
    std::rename(next.c_str(), file.c_str());
  else
    std::remove(next.c_str());
}

}  // namespace pounce::slurm
