#include "worker/supervisor/node_step.h"

#include <signal.h>

namespace pounce::worker {

Program node_step(const std::vector<std::string>& argv, const job::JobNodes& nodes, std::uint32_t node, Epoch first_epoch) {
  Program step;
  step.command = job::step_command(nodes.job, nodes.at(node));
  step.command.insert(step.command.end(), argv.begin(), argv.begin() + 2);
  step.command.insert(step.command.end(), {"--node", std::to_string(node), "--first-epoch", std::to_string(first_epoch.value)});
  step.command.insert(step.command.end(), argv.begin() + 2, argv.end());
  step.descriptors = {{1, 1}, {2, 2}};
  step.death_signal = SIGTERM;
  return step;
}

}  // namespace pounce::worker
