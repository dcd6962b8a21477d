// What clients say on the data socket, and what the supervisor says.
#include "protocol/codec.h"
#include "protocol/limits.h"
#include "pounce/version.h"
#include "worker/worker_engine.h"

#include <unistd.h>

namespace pounce::worker {
namespace {

Error error_of(ErrorCode code, std::string text) { return Error{code, std::move(text), {}, {}}; }

}  // namespace

void WorkerEngine::handle(transport::Received message) {
  const auto session = clients_.session_of(message.peer);
  if (!session) return;  // dismissed since its handshake
  ClientSeat& seat = *clients_.seat(*session);
  seat.heard = Clock::now();
  auto header = protocol::decode(message.frames.front().text(), protocol::kHeaderBytes);
  if (header && std::holds_alternative<protocol::Attach>(*header))
    return on_attach(std::get<protocol::Attach>(*header), *session, seat, message.route);
  if (seat.route != message.route) {  // a new connection of the same client: what was under way to the old one is void
    seat.route = message.route;
    seat.outbox.clear();
  }
  if (!header) return refuse(seat, std::move(header.error()));
  if (!seat.attached) return refuse(seat, error_of(ErrorCode::kProtocol, "the first message must be attach"));
  std::visit([&](const auto& one) { on(one, Letter{*session, seat, message.frames}); }, *header);
}

void WorkerEngine::on_attach(const protocol::Attach& attach, const SessionId& session, ClientSeat& seat,
                             const std::string& route) {
  seat.route = route;
  seat.outbox.clear();
  seat.attached = false;
  if (attach.session != session)
    return refuse(seat, error_of(ErrorCode::kNotAuthenticated, "this key belongs to another session"));
  if (attach.pounce != kVersion)
    return refuse(seat, error_of(ErrorCode::kVersionMismatch, "the notebook has pounce " + attach.pounce +
                                                                  ", the worker " + kVersion));
  if (!attach.python.empty() && attach.python != setup_.python)  // empty: a client without Python sends commands only
    return refuse(seat, error_of(ErrorCode::kVersionMismatch, "the notebook runs Python " + attach.python +
                                                                  ", the worker Python " + setup_.python));
  seat.cloudpickle = attach.cloudpickle;
  if (!same_cloudpickle(seat)) return;
  seat.attached = true;
  activity_changed_ = true;
  protocol::Attached answer{kVersion, setup_.python, cloudpickle_, host_, setup_.node, setup_.devices, directory_, 0};
  answer.pid = static_cast<std::uint32_t>(::getpid());
  seat.outbox.post(answer);
}

// It is imported while the first client is introduced, so that client may be here before its version is known.
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

void WorkerEngine::on(const protocol::Beat& beat, Letter letter) {
  if (!beat.answer) letter.seat.outbox.post(protocol::Beat{true, beat.sent_ns, to_ns(Clock::now())});
}

void WorkerEngine::on(const protocol::Function& function, Letter letter) {
  if (letter.frames.size() != 2) return refuse(letter.seat, error_of(ErrorCode::kProtocol, "function needs one payload"));
  KeptFunction& kept = functions_[function.function];
  if (!kept.bytes) kept = {std::make_shared<const std::string>(letter.frames[1].text()), function.command};
}

void WorkerEngine::on(const protocol::Object& object, Letter letter) {
  if (letter.frames.size() != 2) return refuse(letter.seat, error_of(ErrorCode::kProtocol, "object needs one payload"));
  ObjectOffer offer{object.object, std::string(letter.frames[1].text()), object.buffers, object.pickle_follows};
  receipt(store_.announce(letter.session, std::move(offer)), object.object, letter);
}

void WorkerEngine::on(const protocol::Chunk& chunk, Letter letter) {
  const auto object = ObjectId::from_hex(chunk.of);
  if (!object || letter.frames.size() != 2)
    return refuse(letter.seat, error_of(ErrorCode::kProtocol, "a chunk needs an object and one payload"));
  receipt(store_.chunk(letter.session, *object, chunk.buffer, chunk.offset, letter.frames[1].bytes()), *object, letter);
}

void WorkerEngine::receipt(const Result<ObjectStore::Receipt>& receipt, const ObjectId& object, Letter letter) {
  if (!receipt) {
    Error error = receipt.error();
    error.context["object"] = object.hex();
    refuse(letter.seat, std::move(error));
  } else if (*receipt == ObjectStore::Receipt::kWhole) {
    letter.seat.outbox.post(protocol::Have{object});
  }
}

void WorkerEngine::on(const protocol::Drop& drop, Letter letter) {
  for (const ObjectId& object : drop.objects) store_.drop(letter.session, object);
}

void WorkerEngine::on(const protocol::Task& task, Letter letter) {
  if (letter.frames.size() < 2) return refuse(letter.seat, error_of(ErrorCode::kProtocol, "task needs its arguments"));
  if (ending_) return letter.seat.outbox.post(protocol::QueryIs{{task.task}, {protocol::TaskState::kUnknown}});
  arriving_ = Payload{task.function, task.objects, std::make_shared<transport::Message>(std::move(letter.frames)),
                      to_ns(*letter.seat.heard), {}};
  tell_core(exec::TaskArrived{letter.session, task.task, task.attempt, inputs_here(task)});
  arriving_.reset();
}

void WorkerEngine::on(const protocol::Ack& ack, Letter letter) {
  tell_core(exec::OutcomesAcknowledged{letter.session, ack.tasks});
}

void WorkerEngine::on(const protocol::Query& query, Letter letter) {
  tell_core(exec::StatesAsked{letter.session, query.tasks});
}

void WorkerEngine::on(const protocol::CancelTask& cancel, Letter letter) {
  tell_core(exec::CancelAsked{letter.session, cancel.task, std::chrono::milliseconds(cancel.grace_ms)});
}

void WorkerEngine::on(const protocol::Input& input, Letter letter) {
  if (letter.frames.size() < 2) return refuse(letter.seat, error_of(ErrorCode::kProtocol, "input needs its message"));
  if (input.task != output_task_ || letter.session != output_session_) return;  // it has ended
  std::vector<std::string> parts;
  for (std::size_t i = 1; i < letter.frames.size(); ++i) parts.emplace_back(letter.frames[i].text());
  inputs_.push_back(std::move(parts));
}

template <class Unexpected>
void WorkerEngine::on(const Unexpected& message, Letter letter) {
  refuse(letter.seat, error_of(ErrorCode::kProtocol, std::string(message.kType) + " is not for a worker"));
}

void WorkerEngine::read_supervisor() {
  if (!supervisor_.open()) return;
  supervisor_.flush();
  supervisor_.fill();
  while (const auto header = supervisor_.next()) {
    if (const auto* one = std::get_if<protocol::Admit>(&*header)) admit(*one);
    if (const auto* one = std::get_if<protocol::Dismiss>(&*header)) dismiss(one->session);
    if (const auto* one = std::get_if<protocol::RunNamed>(&*header)) run_named(*one);
    if (const auto* one = std::get_if<protocol::EndWorker>(&*header)) one->only_if_idle ? end_if_idle() : end();
  }
  if (!supervisor_.open()) end();
}

void WorkerEngine::admit(const protocol::Admit& admit) {
  if (const auto key = transport::from_z85(admit.key)) clients_.admit(admit.session, *key);
}

void WorkerEngine::dismiss(const SessionId& session) {
  tell_core(exec::SessionDismissed{session});
  store_.drop_all(session);
  clients_.dismiss(session);
  activity_changed_ = true;
}

void WorkerEngine::run_named(const protocol::RunNamed& order) {
  if (ending_) return;  // pounced hears of the end
  if (auto blind = named_.contains(order.task) ? std::nullopt : not_shared(order.task, order.folder)) {
    protocol::NamedEnded ended;
    ended.task = order.task;
    ended.error = std::move(*blind);
    return supervisor_.send(ended);
  }
  named_.insert(order.task);
  arriving_ = Payload{{}, {}, nullptr, to_ns(Clock::now()), order.folder};
  tell_core(exec::TaskArrived{order.session, order.task, 0, true});
  arriving_.reset();
}

// A task that came before this order is told of at once: the supervisor tells pounced, and the lease goes on.
void WorkerEngine::end_if_idle() {
  if (core_.unfinished() == 0) return end();
  activity_changed_ = true;
  activity_told_ = {};
}

void WorkerEngine::end() {
  ending_ = true;
  if (core_.running()) interrupt();
}

}  // namespace pounce::worker
