// Where this user's files are: the home, the base of all state folders, the instance's two folders. Thread: any.
#pragma once

#include <functional>
#include <string>

#include "model/ids.h"
#include "pounce/error.h"

namespace pounce::daemon {

// The home and the state folder below it. Thread: main, before the loop.
std::string home_folder();  // $HOME, else the password database

// The default folder is below home_folder(), the usual one below the home that the password database names. They
// differ only if the user runs with another $HOME, for a test say.
std::string default_state_folder();
std::string usual_state_folder();

// In which folder the state folders of all clusters lie: the configured one; else below the home; else, when nothing
// can be written there or others can write there, on this machine's own disk. A network file system is fine. Thread:
// main, before the loop.
struct StateBase {
  std::string path;
  std::string trouble;  // why it is not below the home: a sentence's beginning; empty: it is

  bool fallen_back() const { return !trouble.empty(); }
};

// `lives(base)`: a pounced that keeps its state there runs, or is about to. That folder is chosen, whatever its
// trouble is by now.
StateBase choose_state_base(const std::string& usual, const std::string& fallback,
                            const std::function<bool(const std::string& base)>& lives);

// /var/tmp/pounce-<uid>, which survives a reboot, or a name beside it if another user has taken that one.
std::string fallback_state_folder();

// Why no state can be kept where `folder` is or would be made: it cannot be written, or others can write it too.
// Empty: it can be used. Leaves nothing behind.
std::string why_not_usable(const std::string& folder);

// The instance's two folders (docs/internals.md): state, in the home, and runtime, for sockets. Both are this user's
// alone (0700); a folder that another user could have planted is refused.
struct Folders {
  std::string state, runtime;
  bool shared = true;  // the workers' hosts see the state folder too

  std::string lock() const { return state + "/lock"; }
  std::string start_failure() const { return state + "/start_failure"; }
  std::string endpoint() const { return state + "/endpoint"; }
  std::string key_file() const { return state + "/key"; }
  std::string journal() const { return state + "/journal"; }
  std::string usage() const { return state + "/usage"; }
  std::string waits() const { return state + "/waits.jsonl"; }                                // lease_logs.h
  std::string usage_of_gone() const { return state.substr(0, state.rfind('/')) + "/usage"; }  // of folders removed here
  std::string place() const { return state + "/place"; }
  std::string log() const { return state + "/pounced.log"; }
  std::string results() const { return state.substr(0, state.rfind('/')) + "/results"; }  // of all instances here
  // One folder for all instances here. Workers find it beside `state`, which they see only if it is shared
  // (python/pounce/_worker/checkpoints.py).
  std::string checkpoints() const { return state.substr(0, state.rfind('/')) + "/checkpoints"; }
  // Notebooks' saved variables, of all instances here.
  std::string saved_states() const { return state.substr(0, state.rfind('/')) + "/parked"; }
  // How long jobs ran, of all instances here.
  std::string runs() const { return state.substr(0, state.rfind('/')) + "/runs"; }
  std::string leases() const { return state + "/leases"; }
  // Slurm ends a job whose log cannot be made on its node.
  std::string lease_log(const LeaseId& lease) const {
    return shared ? leases() + "/" + lease.hex() + ".log" : "/dev/null";
  }
};

// Names only; makes nothing. state_base: ~/.local/state/pounce, or the configured one.
Folders name_folders(const std::string& state_base, const std::string& cluster, const InstanceId& instance);
Result<void> make_folders(const Folders& folders);

// Makes `path` and its missing parents with mode 0700, below folders that only root and this user may write
// (base/trusted_path.h). The last component must be a folder of this user and no link; if others can enter it, it is
// closed to them.
Result<void> make_private_folder(const std::string& path);

}  // namespace pounce::daemon
