// The named pipe into which any program of the lease writes what it reports (docs/reports.md): 0600, in a folder of its
// own, 0700, on this node. It lives as long as the supervisor, so its name holds for each interpreter that comes. A
// descriptor would not do: most languages close those that they do not know before they start a program.
// Thread: the supervisor's.
#pragma once

#include <string>

#include "base/unique_fd.h"

namespace pounce::worker {

class ReportPipe {
 public:
  // `temporary`: the folder for temporary files; empty: /tmp. Where none can be made, a worker has no pipe.
  explicit ReportPipe(const std::string& temporary);
  // Removes it, and those whose supervisors were killed.
  ~ReportPipe();
  ReportPipe(const ReportPipe&) = delete;
  ReportPipe& operator=(const ReportPipe&) = delete;

  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }  // reads; -1: there is no pipe. It never ends: we are a writer too

 private:
  std::string folder_, path_;
  UniqueFd fd_;
};

}  // namespace pounce::worker
