// The pounce-slurm process with its two pipes: requests and answers on one socketpair, libslurm's standard error on
// another descriptor. Knows nothing of requests. Thread: loop.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "pounce/result.h"

namespace pounce::slurm {

class HelperProcess {
 public:
  static Result<std::unique_ptr<HelperProcess>> start(const std::vector<std::string>& command,
                                                      const std::map<std::string, std::string>& environment);
  ~HelperProcess();  // kills the process and waits for it: it holds nothing that could be lost

  int fd() const { return socket_.get(); }
  pid_t pid() const { return pid_; }
  // False means that the helper cannot have taken the record. It gets a second to read.
  bool write(std::string_view bytes);
  // Returns what has arrived, without waiting. closed: the helper is gone.
  std::string read(bool& closed);
  std::string take_stderr();   // all that libslurm has printed since the last call
  std::string how_it_ended();  // "exit code 1", "signal 9"; call once after read() set closed; kills the process first

 private:
  HelperProcess(pid_t pid, UniqueFd socket, UniqueFd errors);

  pid_t pid_;
  bool reaped_ = false;
  UniqueFd socket_, errors_;
};

}  // namespace pounce::slurm
