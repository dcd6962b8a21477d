// The pounce-slurm process with its two pipes: requests and answers on one socketpair, libslurm's standard error on
// another descriptor. Knows nothing of requests. Thread: loop.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>

#include "base/unique_fd.h"
#include "pounce/result.h"

namespace pounce::slurm {

class HelperProcess {
 public:
  static Result<std::unique_ptr<HelperProcess>> start(const std::string& program,
                                                      const std::map<std::string, std::string>& environment);
  ~HelperProcess();  // ends it and waits for it: it holds nothing that could be lost

  int fd() const { return socket_.get(); }
  pid_t pid() const { return pid_; }
  bool write(std::string_view bytes);  // blocking; false: it is gone
  // What has arrived, without waiting. closed: it is gone.
  std::string read(bool& closed);
  std::string take_stderr();           // all that libslurm has printed since the last call

 private:
  HelperProcess(pid_t pid, UniqueFd socket, UniqueFd errors);

  pid_t pid_;
  UniqueFd socket_, errors_;
};

}  // namespace pounce::slurm
