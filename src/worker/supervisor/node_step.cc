#include "worker/supervisor/node_step.h"

#include <signal.h>

namespace pounce::worker {

Program node_step(const std::vector<std::string>& argv, const std::string& job, std::uint32_t node, Epoch first_epoch) {
  Program step;
  // --overlap: it shares what the job has with the job's other steps, should its tasks start some. No binding: the workers
  // share out the processors themselves.
  step.command = {"srun", "--jobid=" + job, "--overlap", "--relative=" + std::to_string(node), "--nodes=1", "--ntasks=1",
                  "--ntasks-per-node=1", "--cpu-bind=none", "--mpi=none", "--input=none", "--kill-on-bad-exit=0", "--export=ALL",
                  "--job-name=pounce-worker"};
  step.command.insert(step.command.end(), argv.begin(), argv.begin() + 2);
  step.command.insert(step.command.end(), {"--node", std::to_string(node), "--first-epoch", std::to_string(first_epoch.value)});
  step.command.insert(step.command.end(), argv.begin() + 2, argv.end());
  step.descriptors = {{1, 1}, {2, 2}};
  step.death_signal = SIGTERM;
  return step;
}

}  // namespace pounce::worker
