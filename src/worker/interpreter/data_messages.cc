// Messages of clients on the data socket: who they are, their functions and their tasks. Their objects:
// object_messages.cc.
#include <unistd.h>

#include <algorithm>

#include "pounce/version.h"
#include "protocol/codec.h"
#include "protocol/message_limits.h"
#include "transport/frame.h"
#include "worker/interpreter/worker_engine.h"

namespace pounce::worker {
namespace {

Error error_of(ErrorCode code, std::string text) { return Error{code, std::move(text), {}, {}}; }

Error unexpected(std::string_view type) {
  return error_of(ErrorCode::kProtocol, std::string(type).append(" is not for a worker"));
}

}  // namespace

// Over the network the authenticated key identifies the client. A process of our own user on this machine is trusted
// to name its session.
std::optional<SessionId> WorkerEngine::speaker(const transport::Received& message,
                                               const Result<protocol::Header>& header) {
  if (!message.local) return clients_.session_of(message.peer);
  const auto* attach = header ? std::get_if<protocol::Attach>(&*header) : nullptr;
  if (attach == nullptr) return clients_.session_on(message.route);
  if (clients_.seat(attach->session) == nullptr) read_supervisor();  // its Admit may be waiting there
  return clients_.seat(attach->session) == nullptr ? std::nullopt : std::optional(attach->session);
}

void WorkerEngine::handle(transport::Received message) {
  auto header = protocol::decode(message.frames.front().text(), protocol::kHeaderBytes);
  const auto session = speaker(message, header);
  if (!session) return sockets_.cut(message.route);  // dismissed since its handshake: it asks again for admission
  ClientSeat& seat = *clients_.seat(*session);
  seat.last_seen = Clock::now();
  if (header && std::holds_alternative<protocol::Attach>(*header))
    return on_attach(std::get<protocol::Attach>(*header), *session, seat, message.route);
  if (seat.route != message.route) {
    // A late message of a connection that is over. The client attached again, asks what has arrived, and sends the
    // rest. If this message were handled now, a task that has already run would run again.
    if (seat.attached) return;
    seat.route = message.route;
  }
  if (!header) return refuse(seat, std::move(header.error()));
  if (!seat.attached) return refuse(seat, error_of(ErrorCode::kProtocol, "the first message must be attach"));
  std::visit([&](const auto& one) { on(one, DataMessage{*session, seat, message.frames}); }, *header);
}

void WorkerEngine::on_attach(const protocol::Attach& attach, const SessionId& session, ClientSeat& seat,
                             const std::string& route) {
  // A forked child may hold it open.
  if (seat.route != route && sockets_.polled_for_room(seat.route)) sockets_.cut(seat.route);
  seat.route = route;
  seat.outbox.clear();
  seat.attached = false;
  if (attach.session != session)
    return refuse(seat, error_of(ErrorCode::kNotAuthenticated, "this key belongs to another session"));
  if (attach.pounce != kVersion)
    return refuse(seat, error_of(ErrorCode::kVersionMismatch,
                                 "the notebook has pounce " + attach.pounce + ", the worker " + kVersion));
  if (!attach.python.empty() && attach.python != setup_.python)  // empty: a client without Python sends commands only
    return refuse(seat, error_of(ErrorCode::kVersionMismatch,
                                 "the notebook runs Python " + attach.python + ", the worker Python " + setup_.python));
  seat.cloudpickle = attach.cloudpickle;
  if (!same_cloudpickle(seat)) return;
  seat.attached = true;
  seat.outbox.pack(attach.several && !sockets_.polled_for_room(route));
  functions_.drop_all(session);  // a client that comes back sends its functions again
  modules_ = {attach.needs, attach.imports};
  modules_asked_ = !modules_.needs.empty() || !modules_.imports.empty();
  activity_changed_ = true;
  protocol::Attached answer{
      kVersion, setup_.python, cloudpickle_, host_, setup_.node, setup_.devices, directory_, 0, {}, {}};
  answer.pid = static_cast<std::uint32_t>(::getpid());
  leave_lane(session);              // what came over it is kept
  kept_results_.drop_all(session);  // it no longer waits for them
  answer.reached = reached(session, seat);
  answer.several = true;
  // On one machine memory is handed over, and no untrusted peer can read it on the way.
  const auto invitation = attach.no_bulk || sockets_.polled_for_room(route) ? std::nullopt : lanes_.invite(session);
  if (invitation) {
    answer.bulk = invitation->endpoint;
    seat.outbox.post(answer, {own_bytes(invitation->keys)});
  } else {
    seat.outbox.post(answer);
  }
  if (ending_) tell_leaving(seat);
}

// cloudpickle is imported while the first client is introduced, so a client may attach before its version is known.
void WorkerEngine::set_cloudpickle(std::string version) {
  cloudpickle_ = std::move(version);
  for (auto& [session, seat] : clients_.seats())
    if (seat.attached && !same_cloudpickle(seat)) tell_core(exec::SessionDismissed{session});
  flush_outboxes();
}

bool WorkerEngine::same_cloudpickle(ClientSeat& seat) {
  if (cloudpickle_.empty() || seat.cloudpickle.empty() || seat.cloudpickle == cloudpickle_) return true;
  seat.attached = false;
  refuse(seat, error_of(ErrorCode::kVersionMismatch, "the notebook has cloudpickle " + seat.cloudpickle +
                                                         ", the worker cloudpickle " + cloudpickle_));
  return false;
}

void WorkerEngine::refuse(ClientSeat& seat, Error error) { seat.outbox.post(protocol::Refused{std::move(error)}); }

void WorkerEngine::on(const protocol::Beat& beat, DataMessage data_message) {
  if (!beat.answer) data_message.seat.outbox.post(protocol::Beat{true, beat.sent_ns, to_ns(Clock::now())});
}

void WorkerEngine::on(const protocol::Several& several, DataMessage data_message) {
  auto messages = data_message.frames.size() == 2 ? transport::unpack(data_message.frames[1].text(), several.messages)
                                                  : std::nullopt;
  if (!messages)
    return refuse(data_message.seat, error_of(ErrorCode::kProtocol, "what is in it is not so many messages"));
  for (transport::Message& frames : *messages) {
    auto header = protocol::decode(frames.front().text(), protocol::kHeaderBytes);
    if (!header)
      refuse(data_message.seat, std::move(header.error()));
    else if (std::holds_alternative<protocol::Several>(*header))
      refuse(data_message.seat, unexpected(protocol::Several::kType));
    else
      std::visit([&](const auto& one) { on(one, DataMessage{data_message.session, data_message.seat, frames}); },
                 *header);
  }
}

void WorkerEngine::on(const protocol::Function& function, DataMessage data_message) {
  if (data_message.frames.size() != 2)
    return refuse(data_message.seat, error_of(ErrorCode::kProtocol, "function needs one payload"));
  if (!functions_.add(data_message.session, function.function, data_message.frames[1].text(), function.command))
    refuse(data_message.seat,
           error_of(ErrorCode::kProtocol, "a function's id is the digest of its payload, and this one's is not"));
}

void WorkerEngine::on(const protocol::Task& task, DataMessage data_message) {
  if (data_message.frames.size() < 2)
    return refuse(data_message.seat, error_of(ErrorCode::kProtocol, "task needs its arguments"));
  if (ending_) return data_message.seat.outbox.post(protocol::QueryIs{{task.task}, {RemoteTaskState::kEnding}});
  const KeptFunction* function = functions_.find(task.function);
  arriving_ = Payload{task.function,
                      function != nullptr ? *function : KeptFunction{},
                      task.objects,
                      std::make_shared<transport::Message>(std::move(data_message.frames)),
                      to_ns(*data_message.seat.last_seen),
                      {}};
  tell_core(exec::TaskArrived{data_message.session, task.task, task.attempt, inputs_here(task)});
  arriving_.reset();
}

void WorkerEngine::on(const protocol::Ack& ack, DataMessage data_message) {
  for (const TaskId& task : ack.tasks)
    if (const auto file = files_.find(task); file != files_.end() && outcomes_.contains(task))
      ::unlink(file->second.c_str());
  std::vector<std::pair<TaskId, JobResult>> kept;
  for (const TaskId& task : ack.kept)
    kept.emplace_back(task, outcomes_.contains(task) ? outcomes_.at(task).result : JobResult{});
  tell_core(exec::OutcomesAcknowledged{data_message.session, ack.tasks});
  for (auto& [task, result] : kept) keep_result(data_message, task, std::move(result));
  if (owing_) activity_changed_ = true;
}

void WorkerEngine::on(const protocol::Query& query, DataMessage data_message) {
  data_message.seat.reached.clear();
  for (const protocol::Reached& reached : query.reached)
    if (const auto task = TaskId::from_hex(reached.of)) data_message.seat.reached[*task] = reached;
  tell_core(exec::StatesRequested{data_message.session, query.tasks, query.no_others});
}

void WorkerEngine::on(const protocol::CancelTask& cancel, DataMessage data_message) {
  const std::chrono::milliseconds grace(cancel.grace_ms);
  tell_core(exec::CancelRequested{data_message.session, cancel.task, grace, cancel.only_if_queued});
}

void WorkerEngine::on(const protocol::Input& input, DataMessage data_message) {
  if (data_message.frames.size() < 2)
    return refuse(data_message.seat, error_of(ErrorCode::kProtocol, "input needs its message"));
  if (input.task != output_task_ || data_message.session != output_session_) return;  // that task has ended
  std::vector<std::string> parts;
  for (std::size_t i = 1; i < data_message.frames.size(); ++i) parts.emplace_back(data_message.frames[i].text());
  inputs_.push_back(std::move(parts));
}

template <class Unexpected>
void WorkerEngine::on(const Unexpected& message, DataMessage data_message) {
  refuse(data_message.seat, unexpected(message.kType));
}

}  // namespace pounce::worker
