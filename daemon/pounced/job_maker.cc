#include "pounced/job_maker.h"

#include "policy/choice.h"

namespace pounce::daemon {
namespace {

std::string sentences(const std::vector<std::string>& why) {
  std::string text;
  for (const std::string& one : why) text += (text.empty() ? "" : "; ") + one;
  return text;
}

}  // namespace

void JobMaker::make(const lease::SubmitJob& order, const protocol::OpenSession& session, Reply<MadeJob> reply) {
  if (!site_.slurm)
    return reply(MadeJob{job_spec(plan_, site_.instance, order.lease, order.resources, session), {}});
  policy_.look();
  if (!policy::needs_survey(policy_.now(), order.resources)) return reply(made(order, session, ground(order.session)));
  launcher_.survey(order.resources.not_nodes, [this, order, session, reply = std::move(reply)](Result<Survey> survey) {
    if (!survey) return reply(failure(survey.error()));
    policy::Ground known = ground(order.session);
    known.survey = &*survey;
    reply(made(order, session, known));
  });
}

Result<MadeJob> JobMaker::made(const lease::SubmitJob& order, const protocol::OpenSession& session,
                               const policy::Ground& known) {
  const policy::Policy& policy = policy_.now();
  auto choice = policy::choose(policy, order.resources, known);
  if (!choice) return failure(choice.error());
  protocol::OpenSession where = session;
  where.interpreter = policy::worker_command(policy, session.interpreter, session.interpreter_named, site_.who);
  WorkerPlan plan = plan_;
  plan.interface = policy.interface;
  plan.ports = policy::ports_text(policy);
  MadeJob job{job_spec(plan, site_.instance, order.lease, choice->resources, where), sentences(choice->why)};
  if (choice->qos != choice->resources.class_name) job.spec.qos = choice->qos;
  if (!known.has_qos) job.spec.resources.class_name.clear();  // a name of ours alone: Slurm knows no QoS
  job.spec.partition = choice->partition;
  job.spec.prologue = policy.prologue;
  return job;
}

void JobMaker::explain(const Error& refusal, const lease::SubmitJob& order, std::function<void(Error)> reply) {
  const bool known = policy::needs_survey(policy_.now(), order.resources);
  if (!site_.slurm || refusal.code != ErrorCode::kUnsatisfiable || known) return reply(refusal);
  launcher_.survey(order.resources.not_nodes, [this, refusal, order, reply = std::move(reply)](Result<Survey> survey) {
    if (!survey) return reply(refusal);
    policy::Ground known = ground(order.session);
    known.survey = &*survey;
    const auto choice = policy::choose(policy_.now(), order.resources, known);
    if (choice || choice.error().code != ErrorCode::kUnsatisfiable) return reply(refusal);
    Error error = refusal;  // Slurm's words, and ours of what there is
    if (!choice.error().remedy.empty()) error.remedy = choice.error().remedy;
    reply(error);
  });
}

policy::Ground JobMaker::ground(const SessionId& session) const {
  policy::Ground ground;
  ground.has_qos = site_.has_qos;
  for (const lease::LeaseView& lease : driver_.core().leases())
    if (lease.owner && lease.owner->session == session && !lease.node.empty()) ground.own_nodes.push_back(lease.node);
  return ground;
}

}  // namespace pounce::daemon
