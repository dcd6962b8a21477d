#include "pounced/leases/job_builder.h"

#include <cstdlib>
#include <memory>

#include "base/text.h"
#include "launch/local_launcher.h"

namespace pounce::daemon {
namespace {

// ---- the worker's command line and environment --------------------------------------------------------------------

// The handshake endpoint's address for other hosts.
std::string tcp_handshake(const protocol::EndpointFile& endpoint) {
  for (const std::string& handshake : endpoint.handshake)
    if (handshake.starts_with("tcp://")) return handshake;
  return {};
}

// Rounded up: the supervisor counts whole seconds, and a shortened time must not become "never" or "at once".
std::string seconds(std::chrono::milliseconds time) {
  return std::to_string(std::chrono::ceil<std::chrono::seconds>(time).count());
}

std::vector<std::string> command_line(const WorkerPlan& plan, const LeaseId& lease, const Resources& resources,
                                      const std::vector<std::string>& interpreter) {
  std::vector<std::string> argv = {plan.program,   "serve",
                                   "--lease",      lease.hex(),
                                   "--workers",    std::to_string(resources.workers),
                                   "--handshake",  tcp_handshake(plan.endpoint),
                                   "--daemon-key", plan.endpoint.key,
                                   "--proof",      plan.endpoint.proof};
  const auto add = [&](const char* option, const std::string& value) { argv.insert(argv.end(), {option, value}); };
  if (resources.nodes > 1) add("--nodes", std::to_string(resources.nodes));
  if (!plan.endpoint.munge_socket.empty()) add("--munge-socket", plan.endpoint.munge_socket);
  if (!plan.endpoint.key_file.empty()) add("--key-file", plan.endpoint.key_file);
  if (plan.folders.shared) add("--endpoint-file", plan.folders.endpoint());  // else the worker's host cannot see it
  add("--heartbeat-ms", std::to_string(plan.times.heartbeat.count()));
  add("--watchdog-idle-s", seconds(plan.times.watchdog_idle));
  add("--watchdog-busy-s", seconds(plan.times.watchdog_busy));
  add("--leave-s", seconds(plan.times.leave));
  if (plan.stand_in && resources.gpus > 0) add("--stand-in", launch::kStandIn);
  if (!plan.interface.empty()) add("--interface", plan.interface);
  if (!plan.ports.empty()) add("--ports", plan.ports);
  argv.push_back("--");
  argv.insert(argv.end(), interpreter.begin(), interpreter.end());
  return argv;
}

// A batch system's own variables belong to the job that they were set for, ours to the programs that set them.
bool belongs_to_a_job(const std::string& name) {
  for (const char* start : {"SLURM_", "SLURMD_", "SPANK_", "SBATCH_", "SRUN_", "PMI_", "PMIX_", "POUNCE_"})
    if (name.starts_with(start)) return true;
  return false;
}

std::map<std::string, std::string> worker_environment(const std::map<std::string, std::string>& from_session) {
  std::map<std::string, std::string> environment;
  for (const auto& [name, value] : from_session)
    if (!belongs_to_a_job(name) && name.find('=') == std::string::npos) environment[name] = value;
  for (const char* name : {"HOME", "USER", "LOGNAME"})
    if (const char* value = std::getenv(name)) environment.emplace(name, value);
  environment.emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
  return environment;
}

}  // namespace

JobSpec job_spec(const WorkerPlan& plan, const InstanceId& instance, const LeaseId& lease, const Resources& resources,
                 const protocol::OpenSession& session) {
  JobSpec spec;
  spec.instance = instance;
  spec.lease = lease;
  spec.resources = resources;
  spec.name = resources.class_name.empty() ? "pounce" : "pounce-" + resources.class_name;
  spec.command = command_line(plan, lease, resources, session.interpreter);
  spec.environment = worker_environment(session.environment);
  spec.directory = session.directory;
  spec.log_path = plan.folders.lease_log(lease);
  return spec;
}

// ---- what the policy decides --------------------------------------------------------------------------------------

namespace {

std::string sentences(const std::vector<std::string>& why) { return joined(why, "; "); }

// Excludes nodes in trouble. ActionExecutor::submit() allows them again if nothing fits elsewhere.
void leave_out(MadeJob& job, const std::vector<std::string>& nodes) {
  std::string& not_nodes = job.spec.resources.not_nodes;
  job.not_nodes = not_nodes;
  if (nodes.empty() || job.spec.resources.gpus == 0) return;
  not_nodes += (not_nodes.empty() ? "" : ",") + joined(nodes, ",");
  job.note += (job.note.empty() ? "" : "; ") + std::string("not on ") + joined(nodes) + ", where a GPU was in trouble";
}

}  // namespace

void JobBuilder::make(const lease::SubmitJob& order, const ClientFacts& client, Reply<MadeJob> reply) {
  if (!site_.slurm)
    return reply(MadeJob{job_spec(plan_, site_.instance, order.lease, order.resources, client.opened), {}});
  policy_.look();
  if (!policy::needs_cluster_snapshot(policy_.now(), order.resources))
    return reply(made(order, client.opened, context(order.session)));
  // Both questions are sent at once, so that little changes between the two answers.
  const auto answers = std::make_shared<ClusterAnswers>();
  launcher_.ask(slurm::AskClusterSnapshot{order.resources.not_nodes}, [=, this](Result<ClusterSnapshot> cluster) {
    answers->cluster = std::move(cluster);
    make_when_known(order, client, *answers, reply);
  });
  launcher_.ask(slurm::AskQueue{}, [=, this](Result<std::vector<JobView>> jobs) {
    answers->jobs = std::move(jobs);
    make_when_known(order, client, *answers, reply);
  });
}

void JobBuilder::make_when_known(const lease::SubmitJob& order, const ClientFacts& client,
                                 const ClusterAnswers& answers, const Reply<MadeJob>& reply) {
  if (!answers.cluster || !answers.jobs) return;
  if (!*answers.cluster) return reply(failure(answers.cluster->error()));
  policy::SchedulingContext known = context(order.session);
  known.cluster_snapshot = &**answers.cluster;
  known.may_go_apart = !client.detached;
  // Without the queue the waiting jobs are unknown, and each takes what is free.
  if (*answers.jobs) known.awaited = awaited(**answers.jobs);
  reply(made(order, client.opened, known));
}

// Slurm does not know yet of leases that were decided a moment ago.
policy::GpuCounts JobBuilder::awaited(const std::vector<JobView>& jobs) {
  std::map<LeaseId, Resources> waiting;
  for (const lease::LeaseView& lease : driver_.core().leases()) {
    if (!no_job_runs_yet(lease.state)) continue;
    if (const auto chosen = chosen_.find(lease.lease); chosen != chosen_.end()) waiting.insert(*chosen);
  }
  chosen_ = std::move(waiting);
  return policy::awaited_gpus(jobs, chosen_);
}

Result<MadeJob> JobBuilder::made(const lease::SubmitJob& order, const protocol::OpenSession& session,
                                 const policy::SchedulingContext& known) {
  const policy::Policy& policy = policy_.now();
  auto choice = policy::choose(policy, order.resources, known);
  if (!choice) return failure(choice.error());
  chosen_.insert_or_assign(order.lease, choice->resources);
  protocol::OpenSession where = session;
  where.interpreter = policy::worker_command(policy, session.interpreter, session.interpreter_chosen, site_.who);
  WorkerPlan plan = plan_;
  plan.interface = policy.interface;
  plan.ports = policy::ports_text(policy);
  MadeJob job{job_spec(plan, site_.instance, order.lease, choice->resources, where), sentences(choice->why)};
  if (choice->qos != choice->resources.class_name) job.spec.qos = choice->qos;
  if (!known.has_qos) job.spec.resources.class_name.clear();  // only pounce knows this name: Slurm has no QoS
  job.spec.partition = choice->partition;
  job.spec.prologue = policy.prologue;
  leave_out(job, avoided_.names(Clock::now()));
  return job;
}

void JobBuilder::explain(const Error& refusal, const lease::SubmitJob& order, std::function<void(Error)> reply) {
  const bool known = policy::needs_cluster_snapshot(policy_.now(), order.resources);
  if (!site_.slurm || refusal.code != ErrorCode::kUnsatisfiable || known) return reply(refusal);
  launcher_.ask(slurm::AskClusterSnapshot{order.resources.not_nodes},
                [this, refusal, order, reply = std::move(reply)](Result<ClusterSnapshot> cluster_snapshot) {
                  if (!cluster_snapshot) return reply(refusal);
                  policy::SchedulingContext known = context(order.session);
                  known.cluster_snapshot = &*cluster_snapshot;
                  const auto choice = policy::choose(policy_.now(), order.resources, known);
                  if (choice || choice.error().code != ErrorCode::kUnsatisfiable) return reply(refusal);
                  Error error = refusal;  // Slurm's text, with our facts about the cluster
                  if (!choice.error().remedy.empty()) error.remedy = choice.error().remedy;
                  error.fits_apart = choice.error().fits_apart;
                  for (const auto& fact : choice.error().context) error.context.insert(fact);
                  reply(error);
                });
}

policy::SchedulingContext JobBuilder::context(const SessionId& session) const {
  policy::SchedulingContext context;
  context.has_qos = site_.has_qos;
  for (const lease::LeaseView& lease : driver_.core().leases())
    if (lease.owner && lease.owner->session == session && !lease.node.empty()) context.own_nodes.push_back(lease.node);
  return context;
}

}  // namespace pounce::daemon
