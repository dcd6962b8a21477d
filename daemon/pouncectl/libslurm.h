// What pounce-slurm says about Slurm, asked without a daemon. Blocking, with a deadline. Thread: main.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pounce/cluster.h"
#include "pounce/qos.h"
#include "pounce/result.h"
#include "pounce/usage.h"

namespace pounce::ctl {

Result<std::string> loaded_libslurm();
Result<ClusterFacts> cluster_facts();
// As whoever runs this, root too: `pounce-slurm --admin`.
Result<QosFacts> qos_facts();
Result<Holdings> cluster_holdings();
Result<UsageFacts> cluster_usage(std::int64_t from_s);
Result<QosFacts> write_qos(const std::vector<Qos>& qos);  // answers what there is afterwards

}  // namespace pounce::ctl
