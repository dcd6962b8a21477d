// Which pounce-slurm is started, and its process with its two pipes: requests and answers on one socketpair,
// libslurm's standard error on another descriptor. Knows nothing of requests. Thread: loop; finding the program looks
// at files, on any thread.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "pounce/error.h"

namespace pounce::slurm {

// libslurm changes with each major version of Slurm, so `pouncectl setup` builds one for the libslurm of the machine;
// it lies in a folder of its own,
//   BASE/pounce-slurm/<version of pounce>/libslurm.so.<number>/
// with a link `libslurm` to the library that it was built for and, where there is one, `libslurmfull.so` to the one
// that is preloaded. A home may be shared by clusters of different Slurms: a folder whose library is not here is not
// for this machine.
inline constexpr char kHelperName[] = "pounce-slurm", kLibraryLink[] = "libslurm",
                      kFullLibraryLink[] = "libslurmfull.so";

// The BASEs in their order: the user's own, then that of the installation whose programs are in `programs`.
std::string users_base();
std::string installations_base(const std::string& programs);

std::string helper_folder(const std::string& base, int library_number);

// The newest program whose library exists here, from the first base that has any; otherwise the one beside the other
// programs, which may not exist.
std::string find_helper(const std::string& programs);

// The library to preload for that program, if it exists here; otherwise empty.
std::string full_library_for(const std::string& helper);

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
