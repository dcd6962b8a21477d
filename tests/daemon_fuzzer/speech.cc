#include "daemon_fuzzer/speech.h"

#include <algorithm>
#include <array>
#include <functional>
#include <variant>

#include "daemon_fuzzer/strange.h"

namespace pounce::daemon_fuzzer {
namespace {

using namespace protocol;

const std::string kKey = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7";  // the example key of the Z85 specification
const std::string kEndpoint = "tcp://127.0.0.1:40001";

// ---- what is ordinary beside the ids --------------------------------------------------------------------------------

template <class Message>
void fill(Message&, const Actor&, Script&, const Pool&) {}

void fill(OpenSession& message, const Actor& actor, Script&, const Pool&) {
  message.pid = 1, message.host = "login";
  message.directory = "/home/" + actor.place();
  message.interpreter = {"/usr/bin/python3", actor.secret()};
  message.environment = {{"SECRET", actor.secret()}};
}

void fill(Demand& message, const Actor& actor, Script& script, const Pool&) {
  for (std::uint32_t id = 1; id <= 1 + script.below(3); ++id) {
    Request request;
    request.id = {id};
    request.resources.gpus = id - 1;
    request.resources.workers = 1 + static_cast<std::uint32_t>(script.below(2));
    request.waiting = actor.asks;
    request.running = static_cast<std::uint32_t>(script.below(2));
    message.requests.push_back(std::move(request));
  }
}

void fill(ReleaseAsk& message, const Actor&, Script& script, const Pool& pool) {
  message.question = 1 + script.byte();
  message.by = "somebody";
  if (!pool.leases.empty()) message.leases = {pool.leases[script.below(pool.leases.size())]};
}

void fill(SubmitDetached& message, const Actor& actor, Script& script, const Pool& pool) {
  message.question = 1 + script.byte();
  message.name = pool.names[script.below(pool.names.size())];
  message.task = id_from<TaskId>(0x7a5c'0000'0000 + actor.number * 0x10000 + script.below(4));
  message.retries = static_cast<std::uint32_t>(script.below(2));
}

template <class Named>
void fill_named(Named& message, Script& script, const Pool& pool) {
  message.question = 1 + script.byte();
  message.name = pool.names[script.below(pool.names.size())];
}
void fill(DetachedAsk& message, const Actor&, Script& script, const Pool& pool) { fill_named(message, script, pool); }
void fill(CancelDetached& message, const Actor&, Script& script, const Pool& pool) {
  fill_named(message, script, pool);
}
void fill(RelayDetached& message, const Actor&, Script& script, const Pool& pool) { fill_named(message, script, pool); }

void fill(QueueAsk& message, const Actor&, Script& script, const Pool&) { message.question = 1 + script.byte(); }
void fill(ClassesAsk& message, const Actor&, Script& script, const Pool&) { message.question = 1 + script.byte(); }
void fill(StatusAsk& message, const Actor&, Script& script, const Pool&) { message.question = 1 + script.byte(); }

void fill(WorkerUp& message, const Actor& actor, Script& script, const Pool&) {
  message.job = actor.job.job.value, message.restart = actor.job.restart;
  message.node = "g1", message.devices = "gpu:1", message.pid = 2;
  message.interpreter_ready = !script.one_in(4);
  message.endpoint = kEndpoint, message.key = kKey;
}

void fill(InterpreterUp& message, const Actor&, Script&, const Pool&) {
  message.endpoint = kEndpoint, message.key = kKey;
}

void fill(InterpreterDown& message, const Actor& actor, Script& script, const Pool&) {
  message.error = {ErrorCode::kWorkerCrashed, told_by(actor.lease), {}, {{"last_lines", told_by(actor.lease)}}};
  if (script.one_in(2)) message.error.context["started"] = "";
  message.restarting = !script.one_in(4);
}

void fill(WorkerBeat& message, const Actor&, Script& script, const Pool&) {
  message.running = static_cast<std::uint32_t>(script.below(2));
  message.job.busy_ms = 5, message.job.idle_ms = 7;
  message.state = static_cast<NamespaceState>(script.below(3));
}

void fill(WorkerGpus& message, const Actor&, Script& script, const Pool&) {
  message.node = "g1", message.gpu_direct_storage = "compat";
  message.gpus.resize(1 + script.below(2));
  for (model::GpuRow& gpu : message.gpus)
    gpu.uuid = "GPU-1", gpu.model = "A100", gpu.failed = script.one_in(8) ? "it fell off" : "";
}

void fill(DetachedEnded& message, const Actor&, Script& script, const Pool& pool) {
  if (!pool.tasks.empty()) message.task = pool.tasks[script.below(pool.tasks.size())];
  message.ok = true;
  switch (script.below(3)) {
    case 0:
      message.digest = std::string(64, 'a');
      break;
    case 1:
      message.error = {ErrorCode::kNotShared, "no such folder here", {}, {}};
      break;
    case 2:
      message.error = {ErrorCode::kTaskRaised, "it did not work", {}, {}};
      break;
  }
}

// ---- every type -----------------------------------------------------------------------------------------------------

// Which run of its job it belongs to is a worker's word against Slurm's, and the higher number counts: that lie is not
// told.
template <class Message>
void believable(Message&, const Actor&) {}
void believable(WorkerUp& message, const Actor& actor) {
  message.restart = std::min(message.restart, actor.job.restart);
}

template <class Message>
Header made(const Actor& actor, Script& script, const Pool& pool) {
  constexpr std::uint8_t kRates[] = {0, 0, 0, 12, 60, 200};
  Message message;
  Own<Actor> own(actor);
  own(message);
  fill(message, actor, script, pool);
  Strange strange(script, pool, kRates[script.below(std::size(kRates))]);
  strange(message);
  believable(message, actor);
  return message;
}

using Maker = Header (*)(const Actor&, Script&, const Pool&);

template <class... Messages>
constexpr std::array<Maker, sizeof...(Messages)> each(const std::variant<Messages...>*) {
  return {made<Messages>...};
}

// Those that it may say come more often than the others.
template <class... Messages>
Header one_of(Script& script, const Actor& actor, const Pool& pool) {
  constexpr Maker kOwn[] = {made<Messages>...};
  constexpr auto kAll = each(static_cast<const Header*>(nullptr));
  const std::size_t which = script.byte();
  return which < 200 ? kOwn[which % std::size(kOwn)](actor, script, pool)
                     : kAll[which % kAll.size()](actor, script, pool);
}

}  // namespace

Header opening_of(const Actor& actor) {
  Script ordinary("");
  if (actor.role == Role::kWorker) return made<WorkerUp>(actor, ordinary, {});
  return made<OpenSession>(actor, ordinary, {});
}

Header said_by(const Actor& actor, Script& script, const Pool& pool) {
  if (actor.role == Role::kWorker)
    return one_of<WorkerUp, WorkerBeat, WorkerGpus, InterpreterUp, InterpreterDown, DetachedEnded, Beat>(script, actor,
                                                                                                         pool);
  return one_of<Demand, Beat, OpenSession, SubmitDetached, ReleaseAsk, DetachedAsk, CancelDetached, RelayDetached,
                QueueAsk, ClassesAsk, StatusAsk, CloseSession>(script, actor, pool);
}

std::pair<std::string, std::uint32_t> answer_wanted(const Header& header) {
  if (const auto* asked = std::get_if<QueueAsk>(&header)) return {QueueIs::kType, asked->question};
  if (const auto* asked = std::get_if<ClassesAsk>(&header)) return {ClassesIs::kType, asked->question};
  if (const auto* asked = std::get_if<StatusAsk>(&header)) return {StatusIs::kType, asked->question};
  if (const auto* asked = std::get_if<ReleaseAsk>(&header)) return {ReleaseIs::kType, asked->question};
  if (const auto* asked = std::get_if<SubmitDetached>(&header)) return {DetachedList::kType, asked->question};
  if (const auto* asked = std::get_if<DetachedAsk>(&header)) return {DetachedList::kType, asked->question};
  if (const auto* asked = std::get_if<CancelDetached>(&header)) return {DetachedList::kType, asked->question};
  if (const auto* asked = std::get_if<RelayDetached>(&header)) return {DetachedList::kType, asked->question};
  return {};
}

}  // namespace pounce::daemon_fuzzer
