// The doctor's checks in order.
#include "pouncectl/doctor_check.h"

namespace pounce::ctl {

std::vector<Check> checks() {
  using std::chrono::seconds;
  constexpr std::string_view kFiles = "A file system hangs: ask the admin whether the home's file server answers.";
  constexpr std::string_view kSlurm = "Slurm hangs: ask the admin whether slurmctld and slurmdbd answer.";
  return {
      {"programs", check_programs, seconds(15), kFiles},
      {"Python", check_python, seconds(60), "Importing pounce hangs: try it in that Python yourself."},
      {"configuration", check_configuration, seconds(45), kSlurm},
      {"policy", check_policy, seconds(15), kFiles},
      {"state folder", check_state_folder, seconds(15), kFiles},
      {"old folders", check_old_folders, seconds(15), kFiles},
      {"runtime folder", check_runtime_folder, seconds(15), kFiles},
      {"slurm.conf", check_slurm_conf, seconds(15), kFiles},
      {"libslurm", check_libslurm, seconds(15), kSlurm},
      {"slurmctld", check_slurmctld, seconds(30), kSlurm},
      {"classes", check_classes, seconds(15), kSlurm},
      {"munge", check_munge, seconds(15), "munged hangs: ask the admin to restart it."},
      {"daemon", check_daemon, seconds(20),
       "pounced hangs: end it (its pid is in `pounced ensure --no-start`); running work goes on."},
      {"address", check_address, seconds(15), "A name server hangs: set advertise_address in the configuration."},
      {"clock", check_clock, seconds(15), kFiles},
  };
}

}  // namespace pounce::ctl
