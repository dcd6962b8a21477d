// One lease's submission: the worker's command line, environment and files. Nothing in it is secret: batch systems
// store and show all of it. Pure. Thread: any.
#pragma once

#include <map>
#include <string>

#include "core/lease/defaults.h"
#include "model/ids.h"
#include "model/job.h"
#include "pounce/resources.h"
#include "pounced/startup/folders.h"
#include "protocol/messages.h"
#include "protocol/state_files.h"

namespace pounce::daemon {

struct WorkerPlan {
  std::string program;              // pounce-worker
  protocol::EndpointFile endpoint;  // of this daemon
  Folders folders;
  lease::Defaults times;
  bool stand_in = false;             // this machine's CPU stands in for GPUs
  std::string interface{}, ports{};  // where workers listen; empty: the interface that faces this daemon, any port
};

JobSpec job_spec(const WorkerPlan& plan, const InstanceId& instance, const LeaseId& lease, const Resources& resources,
                 const protocol::OpenSession& session);

}  // namespace pounce::daemon
