#include "pounced/leases/job_builder.h"

#include "base/join.h"
#include "policy/placement_choice.h"

namespace pounce::daemon {
namespace {

std::string sentences(const std::vector<std::string>& why) {
  return joined(why, "; ");
}

// Nodes that are in trouble, as far as Slurm has others.
void leave_out(MadeJob& job, const std::vector<std::string>& nodes) {
  std::string& not_nodes = job.spec.resources.not_nodes;
  job.not_nodes = not_nodes;
  if (nodes.empty() || job.spec.resources.gpus == 0) return;
  not_nodes += (not_nodes.empty() ? "" : ",") + joined(nodes, ",");
  job.note += (job.note.empty() ? "" : "; ") + std::string("not on ") + joined(nodes) + ", where a GPU was in trouble";
}

}  // namespace

void JobBuilder::make(const lease::SubmitJob& order, const protocol::OpenSession& session, Reply<MadeJob> reply) {
  if (!site_.slurm)
    return reply(MadeJob{job_spec(plan_, site_.instance, order.lease, order.resources, session), {}});
  policy_.look();
  if (!policy::needs_cluster_snapshot(policy_.now(), order.resources)) return reply(made(order, session, context(order.session)));
  launcher_.ask(slurm::AskClusterSnapshot{order.resources.not_nodes}, [this, order, session, reply = std::move(reply)](Result<ClusterSnapshot> cluster_snapshot) {
    if (!cluster_snapshot) return reply(failure(cluster_snapshot.error()));
    policy::SchedulingContext known = context(order.session);
    known.cluster_snapshot = &*cluster_snapshot;
    reply(made(order, session, known));
  });
}

Result<MadeJob> JobBuilder::made(const lease::SubmitJob& order, const protocol::OpenSession& session,
                               const policy::SchedulingContext& known) {
  const policy::Policy& policy = policy_.now();
  auto choice = policy::choose(policy, order.resources, known);
  if (!choice) return failure(choice.error());
  protocol::OpenSession where = session;
  where.interpreter = policy::worker_command(policy, session.interpreter, session.interpreter_chosen, site_.who);
  WorkerPlan plan = plan_;
  plan.interface = policy.interface;
  plan.ports = policy::ports_text(policy);
  MadeJob job{job_spec(plan, site_.instance, order.lease, choice->resources, where), sentences(choice->why)};
  if (choice->qos != choice->resources.class_name) job.spec.qos = choice->qos;
  if (!known.has_qos) job.spec.resources.class_name.clear();  // a name of ours alone: Slurm knows no QoS
  job.spec.partition = choice->partition;
  job.spec.prologue = policy.prologue;
  leave_out(job, avoided_.names(Clock::now()));
  return job;
}

void JobBuilder::explain(const Error& refusal, const lease::SubmitJob& order, std::function<void(Error)> reply) {
  const bool known = policy::needs_cluster_snapshot(policy_.now(), order.resources);
  if (!site_.slurm || refusal.code != ErrorCode::kUnsatisfiable || known) return reply(refusal);
  launcher_.ask(slurm::AskClusterSnapshot{order.resources.not_nodes}, [this, refusal, order, reply = std::move(reply)](Result<ClusterSnapshot> cluster_snapshot) {
    if (!cluster_snapshot) return reply(refusal);
    policy::SchedulingContext known = context(order.session);
    known.cluster_snapshot = &*cluster_snapshot;
    const auto choice = policy::choose(policy_.now(), order.resources, known);
    if (choice || choice.error().code != ErrorCode::kUnsatisfiable) return reply(refusal);
    Error error = refusal;  // Slurm's words, and ours of what there is
    if (!choice.error().remedy.empty()) error.remedy = choice.error().remedy;
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
