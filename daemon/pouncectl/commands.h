// pouncectl's commands. Each prints to standard output and returns the exit code of docs/pouncectl.md. And what to say
// of a command line that names a command or an option that does not exist.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pounce::ctl {

inline constexpr int kOk = 0, kFailed = 1, kUsage = 2, kNoDaemon = 3;

struct ReleaseOptions {
  std::vector<std::string> leases;  // prefixes of ids
  std::string session;              // a prefix of its id; releases all its leases
  bool all = false, now = false;
};

struct LogOptions {
  std::string lease;  // a prefix of its id; empty: pounced's own log
  int lines = 40;
  bool follow = false;
};

struct PolicyOptions {
  std::string file, note;
  std::string request = "{}";                    // explain: the request as JSON
  std::string state = "/var/lib/pounce/policy";  // the folder of the records of applies
  bool here = false;                             // explain: with Slurm's current nodes and this user's open classes
};

struct SimulateOptions {
  std::string file;
  std::uint32_t users = 200, hours = 24, nodes = 16, gpus = 4;  // gpus: per node
  std::uint64_t seed = 1;
};

struct TopOptions {
  int every = 0;  // seconds between two looks; 0: one look
};

struct ParkedOptions {
  std::vector<std::string> ids;  // prefixes
  std::string older;             // "7d"
  bool all = false, yes = false;
};

struct SetupOptions {
  std::string slurm, headers, python;  // folders, a program; empty: searched for
  bool rebuild = false;                // also if a matching one exists
  bool own = false;                    // into the user's own folder, even if the installation's is writable
};

int version(const std::string& python, bool json);
int setup(const SetupOptions& options, bool json);
int rebuild(SetupOptions options, bool json);
int status(bool json);
int queue(bool json);
int classes(bool json);
int top(const TopOptions& options, bool json);
int accounting();  // for pounce's own Python: questions on standard input
int use_report(const std::vector<std::string>& leases, bool json);  // report; empty: all known leases
int leases(bool json);
int nodes(bool json);
int explain(const std::vector<std::string>& leases, bool json);  // why; prefixes of ids, empty: all waiting leases
int eta_score(bool json);
int release(const ReleaseOptions& options, bool json);
int cancel(const ReleaseOptions& options, bool json);
int logs(const LogOptions& options, bool json);
int parked_list(bool json);
int parked_rm(const ParkedOptions& options, bool json);
int policy_check(const PolicyOptions& options, bool json);
int policy_plan(const PolicyOptions& options, bool json);
int policy_apply(const PolicyOptions& options, bool json);
int policy_export(bool json);
int policy_explain(const PolicyOptions& options, bool json);
int policy_simulate(const SimulateOptions& options, bool json);
int policy_rollback(const PolicyOptions& options, bool json);
int doctor(const std::string& python, bool json);

}  // namespace pounce::ctl

namespace CLI {
class App;
}

namespace pounce::ctl {

// Call it after a failed parse of `words`, the arguments after the program's name. Two lines, the fault and where to
// look; empty: all names are known.
std::string unknown_word(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace pounce::ctl
