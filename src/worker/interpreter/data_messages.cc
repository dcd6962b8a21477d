// What clients say on the data socket, and what the supervisor says.
#include <unistd.h>

#include <algorithm>

#include "pounce/version.h"
#include "protocol/codec.h"
#include "protocol/message_limits.h"
#include "transport/packed_messages.h"
#include "worker/interpreter/worker_engine.h"

namespace pounce::worker {
namespace {

constexpr std::size_t kMostReached = 64;
constexpr std::chrono::seconds kOnItsWay{10};

Error error_of(ErrorCode code, std::string text) { return Error{code, std::move(text), {}, {}}; }

Error unexpected(std::string_view type) { return error_of(ErrorCode::kProtocol, std::string(type).append(" is not for a worker")); }

}  // namespace

// Over the network the key that the socket authenticated says who it is; a process of our own user on our machine says it.
std::optional<SessionId> WorkerEngine::speaker(const transport::Received& message, const Result<protocol::Header>& header) {
  if (!message.local) return clients_.session_of(message.peer);
  const auto* attach = header ? std::get_if<protocol::Attach>(&*header) : nullptr;
  if (attach == nullptr) return clients_.session_on(message.route);
  if (clients_.seat(attach->session) == nullptr) read_supervisor();  // its introduction may be waiting there
  return clients_.seat(attach->session) == nullptr ? std::nullopt : std::optional(attach->session);
}

void WorkerEngine::handle(transport::Received message) {
  auto header = protocol::decode(message.frames.front().text(), protocol::kHeaderBytes);
  const auto session = speaker(message, header);
  if (!session) return sockets_.cut(message.route);  // dismissed since its handshake: it asks again to be let in
  ClientSeat& seat = *clients_.seat(*session);
  seat.last_seen = Clock::now();
  if (header && std::holds_alternative<protocol::Attach>(*header))
    return on_attach(std::get<protocol::Attach>(*header), *session, seat, message.route);
  if (seat.route != message.route) {
    // Late, of a connection that is over: the client attached anew, asks what has come, and sends what has not. Acted on
    // now, a task that has run already would run again.
    if (seat.attached) return;
    seat.route = message.route;
  }
  if (!header) return refuse(seat, std::move(header.error()));
  if (!seat.attached) return refuse(seat, error_of(ErrorCode::kProtocol, "the first message must be attach"));
  std::visit([&](const auto& one) { on(one, DataMessage{*session, seat, message.frames}); }, *header);
}

void WorkerEngine::on_attach(const protocol::Attach& attach, const SessionId& session, ClientSeat& seat,
                             const std::string& route) {
  if (seat.route != route && sockets_.polled_for_room(seat.route)) sockets_.cut(seat.route);  // a forked child may hold it open
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
  seat.outbox.pack(attach.several && !sockets_.polled_for_room(route));
  functions_.drop_all(session);  // a client that comes back sends them again
  modules_ = {attach.needs, attach.imports};
  modules_asked_ = !modules_.needs.empty() || !modules_.imports.empty();
  activity_changed_ = true;
  protocol::Attached answer{kVersion, setup_.python, cloudpickle_, host_, setup_.node, setup_.devices, directory_, 0, {}, {}};
  answer.pid = static_cast<std::uint32_t>(::getpid());
  leave_lane(session);  // what came over it counts
  answer.reached = reached(session, seat);
  answer.several = true;
  // On one machine memory is handed over, and there is nothing that a stranger could read on the way.
  const auto invitation = attach.no_bulk || sockets_.polled_for_room(route) ? std::nullopt : lanes_.invite(session);
  if (!invitation) return seat.outbox.post(answer);
  answer.bulk = invitation->endpoint;
  seat.outbox.post(answer, {own_bytes(invitation->keys)});
}

std::vector<protocol::Reached> WorkerEngine::reached(const SessionId& session, const ClientSeat& seat) const {
  std::vector<protocol::Reached> all;
  for (const auto& [object, buffer, offset] : store_.progress(session)) all.push_back({object.hex(), buffer, offset, false});
  for (const ObjectId& object : seat.come_whole)
    if (store_.holds(session, object)) all.push_back({object.hex(), 0, 0, true});
  if (all.size() > kMostReached) all.resize(kMostReached);
  return all;
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

void WorkerEngine::on(const protocol::Beat& beat, DataMessage data_message) {
  if (!beat.answer) data_message.seat.outbox.post(protocol::Beat{true, beat.sent_ns, to_ns(Clock::now())});
}

void WorkerEngine::on(const protocol::Several& several, DataMessage data_message) {
  auto messages = data_message.frames.size() == 2 ? transport::unpack(data_message.frames[1].text(), several.messages) : std::nullopt;
  if (!messages) return refuse(data_message.seat, error_of(ErrorCode::kProtocol, "what is in it is not so many messages"));
  for (transport::Message& frames : *messages) {
    auto header = protocol::decode(frames.front().text(), protocol::kHeaderBytes);
    if (!header)
      refuse(data_message.seat, std::move(header.error()));
    else if (std::holds_alternative<protocol::Several>(*header))
      refuse(data_message.seat, unexpected(protocol::Several::kType));
    else
      std::visit([&](const auto& one) { on(one, DataMessage{data_message.session, data_message.seat, frames}); }, *header);
  }
}

void WorkerEngine::on(const protocol::Function& function, DataMessage data_message) {
  if (data_message.frames.size() != 2) return refuse(data_message.seat, error_of(ErrorCode::kProtocol, "function needs one payload"));
  if (!functions_.add(data_message.session, function.function, data_message.frames[1].text(), function.command))
    refuse(data_message.seat, error_of(ErrorCode::kProtocol, "a function's id is the digest of its payload, and this one's is not"));
}

void WorkerEngine::on(const protocol::Object& object, DataMessage data_message) {
  if (data_message.frames.size() != (object.places.empty() ? 2 : 3))
    return refuse(data_message.seat, error_of(ErrorCode::kProtocol, "object needs one payload, and one with `places` its memory"));
  ObjectOffer offer{object.object, std::string(data_message.frames[1].text()), object.buffers, object.pickle_follows,
                    data_message.frames.back().block(), object.places, object.fetched};
  bulk::Lane* const lane = lanes_.lane(data_message.session);
  if (object.fetched && lane == nullptr)
    return refuse(data_message.seat, error_of(ErrorCode::kProtocol, "an object is to be fetched, and there is no lane"));
  if (object.fetched) lane->stop(object.object.hex());  // of an earlier announcement
  receipt(store_.announce(data_message.session, std::move(offer)), object.object, data_message);
  if (!object.fetched) return;
  if (auto rest = store_.rest(data_message.session, object.object)) lane->fetch(object.object.hex(), std::move(rest->targets), rest->from);
}

void WorkerEngine::on(const protocol::Chunk& chunk, DataMessage data_message) {
  const auto object = ObjectId::from_hex(chunk.of);
  if (!object || data_message.frames.size() != 2)
    return refuse(data_message.seat, error_of(ErrorCode::kProtocol, "a chunk needs an object and one payload"));
  receipt(store_.chunk(data_message.session, *object, chunk.buffer, chunk.offset, data_message.frames[1].bytes()), *object, data_message);
}

void WorkerEngine::receipt(const Result<ObjectStore::Receipt>& receipt, const ObjectId& object, DataMessage data_message) {
  if (!receipt)
    tell_not_kept(data_message.seat, receipt.error(), object);
  else if (*receipt == ObjectStore::Receipt::kWhole)
    tell_whole(data_message.seat, object);
}

void WorkerEngine::tell_not_kept(ClientSeat& seat, Error error, const ObjectId& object) {
  error.context["object"] = object.hex();
  refuse(seat, std::move(error));
}

void WorkerEngine::tell_whole(ClientSeat& seat, const ObjectId& object) {
  seat.outbox.post(protocol::Have{object});
  seat.come_whole.push_back(object);
  if (seat.come_whole.size() > kMostReached / 2) seat.come_whole.pop_front();
}

// A lane that is lost is left alone: its client sees it too, and attaches anew.
void WorkerEngine::follow_lanes() {
  for (auto& [session, event] : lanes_.events()) {
    ClientSeat* const seat = clients_.seat(session);
    const auto* whole = std::get_if<bulk::Whole>(&event);
    auto* failed = std::get_if<bulk::Failed>(&event);
    const auto object = whole ? ObjectId::from_hex(whole->of) : failed ? ObjectId::from_hex(failed->of) : std::nullopt;
    if (seat == nullptr || !object) continue;
    if (failed) {
      store_.give_up(session, *object);
      tell_not_kept(*seat, std::move(failed->error), *object);
    } else if (store_.came_whole(session, *object) == ObjectStore::Receipt::kWhole) {
      tell_whole(*seat, *object);
    }
  }
}

void WorkerEngine::leave_lane(const SessionId& session) {
  bulk::Lane* const lane = lanes_.lane(session);
  if (lane == nullptr) return;
  lane->close();
  follow_lanes();
  for (const auto& [object, buffer, offset] : store_.progress(session))
    if (const auto position = lane->reached(object.hex())) store_.came_to(session, object, *position);
  lanes_.close(session);
}

void WorkerEngine::on(const protocol::Drop& drop, DataMessage data_message) {
  for (const ObjectId& object : drop.objects) {
    store_.drop(data_message.session, object);
    if (bulk::Lane* const lane = lanes_.lane(data_message.session)) lane->stop(object.hex());
  }
  for (const FunctionId& function : drop.functions) functions_.drop(data_message.session, function);
}

void WorkerEngine::on(const protocol::Task& task, DataMessage data_message) {
  if (data_message.frames.size() < 2) return refuse(data_message.seat, error_of(ErrorCode::kProtocol, "task needs its arguments"));
  if (ending_) return data_message.seat.outbox.post(protocol::QueryIs{{task.task}, {protocol::TaskState::kEnding}});
  const KeptFunction* function = functions_.find(task.function);
  arriving_ = Payload{task.function, function != nullptr ? *function : KeptFunction{}, task.objects,
                      std::make_shared<transport::Message>(std::move(data_message.frames)), to_ns(*data_message.seat.last_seen), {}};
  tell_core(exec::TaskArrived{data_message.session, task.task, task.attempt, inputs_here(task)});
  arriving_.reset();
}

void WorkerEngine::on(const protocol::Ack& ack, DataMessage data_message) {
  for (const TaskId& task : ack.tasks)
    if (const auto file = files_.find(task); file != files_.end() && outcomes_.contains(task)) ::unlink(file->second.c_str());
  tell_core(exec::OutcomesAcknowledged{data_message.session, ack.tasks});
  if (owing_) activity_changed_ = true;
}

void WorkerEngine::on(const protocol::Query& query, DataMessage data_message) {
  data_message.seat.reached.clear();
  for (const protocol::Reached& reached : query.reached)
    if (const auto task = TaskId::from_hex(reached.of)) data_message.seat.reached[*task] = reached;
  tell_core(exec::StatesAsked{data_message.session, query.tasks, query.no_others});
}

void WorkerEngine::on(const protocol::CancelTask& cancel, DataMessage data_message) {
  const std::chrono::milliseconds grace(cancel.grace_ms);
  tell_core(exec::CancelAsked{data_message.session, cancel.task, grace, cancel.only_if_queued});
}

void WorkerEngine::on(const protocol::Input& input, DataMessage data_message) {
  if (data_message.frames.size() < 2) return refuse(data_message.seat, error_of(ErrorCode::kProtocol, "input needs its message"));
  if (input.task != output_task_ || data_message.session != output_session_) return;  // it has ended
  std::vector<std::string> parts;
  for (std::size_t i = 1; i < data_message.frames.size(); ++i) parts.emplace_back(data_message.frames[i].text());
  inputs_.push_back(std::move(parts));
}

template <class Unexpected>
void WorkerEngine::on(const Unexpected& message, DataMessage data_message) {
  refuse(data_message.seat, unexpected(message.kType));
}

void WorkerEngine::read_supervisor() {
  if (!supervisor_.open()) return;
  supervisor_.flush();
  supervisor_.fill();
  while (const auto header = supervisor_.next()) {
    if (const auto* one = std::get_if<protocol::Admit>(&*header)) admit(*one);
    if (const auto* one = std::get_if<protocol::Dismiss>(&*header)) dismiss(one->session);
    if (const auto* one = std::get_if<protocol::Walltime>(&*header)) end_time_s_ = one->end_time_s;
    if (std::get_if<protocol::YieldSteps>(&*header)) yield_asked_ = state_ == NamespaceState::kStepping;
    if (const auto* one = std::get_if<protocol::RunDetached>(&*header)) run_detached(*one);
    if (const auto* one = std::get_if<protocol::EndWorker>(&*header)) one->only_if_idle ? end_if_idle() : end();
  }
  if (!supervisor_.open()) end();
}

void WorkerEngine::admit(const protocol::Admit& admit) {
  if (const auto key = transport::from_z85(admit.key)) clients_.admit(admit.session, *key);
}

// Its connection is cut: on a standing one nothing would tell a client that is admitted again that it has to attach.
void WorkerEngine::dismiss(const SessionId& session) {
  if (const ClientSeat* seat = clients_.seat(session); seat != nullptr && !seat->route.empty()) sockets_.cut(seat->route);
  tell_core(exec::SessionDismissed{session});
  lanes_.close(session);
  store_.drop_all(session);
  functions_.drop_all(session);
  clients_.dismiss(session);
  activity_changed_ = true;
}

void WorkerEngine::run_detached(const protocol::RunDetached& order) {
  if (ending_) return;  // pounced hears of the end
  if (auto blind = named_.contains(order.task) ? std::nullopt : not_shared(order.task, order.folder)) {
    protocol::DetachedEnded ended;
    ended.task = order.task;
    ended.error = std::move(*blind);
    return supervisor_.send(ended);
  }
  named_.insert(order.task);
  arriving_ = Payload{{}, {}, {}, nullptr, to_ns(Clock::now()), order.folder};
  tell_core(exec::TaskArrived{order.session, order.task, 0, true});
  arriving_.reset();
}

// A task that came before this order is told of at once: the supervisor tells pounced, and the lease goes on. It does so too
// while an outcome is on its way to a client that is here: it would be lost with us.
void WorkerEngine::end_if_idle() {
  owing_ = owes();
  if (core_.unfinished() == 0 && !saving() && !owing_) return end();
  stays_ = activity_changed_ = true;
  activity_told_ = {};
}

// By then pounced knows from its client that the lease is in use; one that never acknowledges does not keep it for ever.
bool WorkerEngine::owes() const {
  const auto owed = [this](const auto& entry) { return entry.second.attached && core_.owes(entry.first); };
  return Clock::now() < outcome_at_ + kOnItsWay && std::ranges::any_of(clients_.seats(), owed);
}

void WorkerEngine::end() {
  if (ending_.exchange(true)) return;
  wanted_ = activity_changed_ = true;
  if (core_.running()) interrupt();
}

}  // namespace pounce::worker
