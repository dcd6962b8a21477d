// The instance's two folders (docs/architecture.md): state, in the home, and runtime, for sockets. Both belong to
// this user alone (0700); a folder that another user could have planted is refused. Thread: any.
#pragma once

#include <string>

#include "pounce/ids.h"
#include "pounce/result.h"

namespace pounce::daemon {

struct Folders {
  std::string state, runtime;
  bool shared = true;  // the workers' hosts see the state folder too

  std::string lock() const { return state + "/lock"; }
  std::string start_failure() const { return state + "/start_failure"; }
  std::string endpoint() const { return state + "/endpoint"; }
  std::string key_file() const { return state + "/key"; }
  std::string journal() const { return state + "/journal"; }
  std::string usage() const { return state + "/usage"; }
  std::string waits() const { return state + "/waits.jsonl"; }  // wait_log.h
  std::string usage_of_gone() const { return state.substr(0, state.rfind('/')) + "/usage"; }  // of folders removed here
  std::string place() const { return state + "/place"; }
  std::string log() const { return state + "/pounced.log"; }
  std::string results() const { return state.substr(0, state.rfind('/')) + "/results"; }  // of all instances here
  // One folder for all instances here. Workers find it beside `state`, which they see only if it is shared
  // (python/pounce/_worker/checkpoints.py).
  std::string checkpoints() const { return state.substr(0, state.rfind('/')) + "/checkpoints"; }
  // Notebooks' saved variables, of all instances here.
  std::string parked() const { return state.substr(0, state.rfind('/')) + "/parked"; }
  // How long jobs ran, of all instances here.
  std::string runs() const { return state.substr(0, state.rfind('/')) + "/runs"; }
  std::string leases() const { return state + "/leases"; }
  // Slurm ends a job whose log cannot be made on its node.
  std::string lease_log(const LeaseId& lease) const { return shared ? leases() + "/" + lease.hex() + ".log" : "/dev/null"; }
};

// Names only; makes nothing. state_base: ~/.local/state/pounce, or the configured one.
Folders name_folders(const std::string& state_base, const std::string& cluster, const InstanceId& instance);
Result<void> make_folders(const Folders& folders);

// Makes `path` and its missing parents with mode 0700, below folders that only root and this user may write
// (base/trusted_path.h). The last component must be a folder of this user and no link; if others can enter it, it is
// closed to them.
Result<void> make_private_folder(const std::string& path);

}  // namespace pounce::daemon
