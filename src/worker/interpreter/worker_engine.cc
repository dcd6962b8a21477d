#include "worker/interpreter/worker_engine.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "base/overloaded.h"
#include "protocol/codec.h"
#include "protocol/message_limits.h"
#include "transport/frame.h"

namespace pounce::worker {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kTurnMessages = 64;  // so that a thread that wants the leader token does not wait long
constexpr std::size_t kTurnBytes = 8 * 1024 * 1024;
constexpr auto kRetry = 2ms;     // when ZeroMQ's queue to a client is full
constexpr auto kLongSleep = 1h;  // when there is nothing to do: a limit that no clock arithmetic overflows

}  // namespace

Result<std::unique_ptr<WorkerEngine>> WorkerEngine::start(EngineSetup setup) {
  auto page = RunPage::map(setup.run_page.get());
  if (!page) return failure(std::move(page.error()));
  page->clear();
  const DataSockets::Where where{setup.facing, setup.interface, setup.ports};
  std::unique_ptr<WorkerEngine> engine(new WorkerEngine(std::move(setup), std::move(*page)));
  if (auto bound = engine->bind(where); !bound) return failure(std::move(bound.error()));
  engine->supervisor_.send(protocol::Ready{engine->endpoint(), transport::to_z85(engine->key())});
  return engine;
}

WorkerEngine::WorkerEngine(EngineSetup setup, RunPage page)
    : supervisor_(std::move(setup.supervisor)),
      objects_(clients_, setup.keep_bytes, std::move(setup.room_for), setup.package_folders, setup.devices),
      clients_(sockets_, objects_.blocks()),
      output_(clients_, {OutputPipe(std::move(setup.output), setup.log_fd, "stdout", page.words()),
                         OutputPipe(std::move(setup.errors), setup.log_fd, "stderr", page.words())}),
      looks_(clients_),
      tasks_(MainThreadTask(std::move(page), std::move(setup.interrupt), std::move(setup.nudge)), setup.node, clients_,
             objects_, output_, supervisor_),
      attach_handler_({setup.node, setup.devices, setup.python}, sockets_, clients_, objects_, tasks_, supervisor_) {}

WorkerEngine::~WorkerEngine() = default;

Result<void> WorkerEngine::bind(const DataSockets::Where& where) {
  auto bound = sockets_.bind(where, [this](const PublicKey& key) {
    if (!clients_.admits(key)) read_supervisor();  // its Admit may be waiting there
    return clients_.admits(key);
  });
  if (!bound) return failure(std::move(bound.error()));
  objects_.lanes().listen_at(std::move(*bound));
  return {};
}

void WorkerEngine::turn(int wake_fd, TimePoint until) {
  tasks_.begin_turn();
  wait(wake_fd, std::min(until, next_deadline()));
  sockets_.answer_handshakes();
  read_supervisor();  // first, so that a task that comes with the order to end never starts
  receive_messages();
  objects_.follow();
  const TimePoint now = Clock::now();
  tasks_.pass_time(now);
  output_.forward(now, false);
  clients_.flush();
  tell_activity(now);
}

TimePoint WorkerEngine::next_deadline() const {
  const TimePoint now = Clock::now();
  if (more_messages_ || clients_.more() || objects_.more()) return now;
  TimePoint deadline = std::min({now + kLongSleep, tasks_.next_deadline(), objects_.next_deadline()});
  if (clients_.blocked()) deadline = now + kRetry;
  return std::min({deadline, output_.next_deadline(now), supervisor_.next_report(clients_.anyone_connected())});
}

void WorkerEngine::wait(int wake_fd, TimePoint until) {
  poll_.clear();
  sockets_.add_to(poll_);
  objects_.add_to(poll_);
  poll_.add_fd(wake_fd);
  supervisor_.add_to(poll_);
  output_.add_to(poll_);
  poll_.wait(until);
  sockets_.admit_waiting(poll_);
  objects_.accept_waiting(poll_);
}

// ---- messages of clients -------------------------------------------------------------------------------------------

void WorkerEngine::receive_messages() {
  std::size_t messages = 0, bytes = 0;
  more_messages_ = true;
  while (messages < kTurnMessages && bytes < kTurnBytes) {
    auto message = sockets_.receive();
    if (!message) {
      more_messages_ = false;
      return clients_.forget_more();
    }
    ++messages;
    for (const transport::Frame& frame : message->frames) bytes += frame.size();
    handle(std::move(*message));
  }
}

void WorkerEngine::handle(transport::Received message) {
  auto header = protocol::decode(message.frames.front().text(), protocol::kHeaderBytes);
  const auto session = speaker(message, header);
  if (!session) return sockets_.cut(message.route);  // dismissed since its handshake: it asks again for admission
  ClientSeat& seat = *clients_.seat(*session);
  seat.last_seen = Clock::now();
  if (const auto* attach = header ? std::get_if<protocol::Attach>(&*header) : nullptr)
    return attach_handler_.on(*attach, *session, seat, message.route);
  if (seat.route != message.route) {
    // A late message of a connection that is over. The client attached again, asks what has arrived, and sends the
    // rest. If this message were handled now, a task that has already run would run again.
    if (seat.attached) return;
    seat.route = message.route;
  }
  if (!header) return seat.refuse(std::move(header.error()));
  if (!seat.attached) return seat.refuse(ErrorCode::kProtocol, "the first message must be attach");
  dispatch(*header, DataMessage{*session, seat, message.frames});
}

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

void WorkerEngine::dispatch(const protocol::Header& header, const DataMessage& message) {
  std::visit(Overloaded{[&](const protocol::Beat& one) {
                          if (!one.answer)
                            message.seat.outbox.post(protocol::Beat{true, one.sent_ns, to_ns(Clock::now())});
                        },
                        [&](const protocol::Several& one) { unpack(one, message); },
                        [&](const protocol::Function& one) { objects_.on(one, message); },
                        [&](const protocol::Object& one) { objects_.on(one, message); },
                        [&](const protocol::Chunk& one) { objects_.on(one, message); },
                        [&](const protocol::Serve& one) { objects_.on(one, message); },
                        [&](const protocol::Drop& one) { objects_.on(one, message); },
                        [&](const protocol::Task& one) { tasks_.on(one, message); },
                        [&](const protocol::Ack& one) { tasks_.on(one, message); },
                        [&](const protocol::Query& one) { tasks_.on(one, message); },
                        [&](const protocol::CancelTask& one) { tasks_.on(one, message); },
                        [&](const protocol::Input& one) { output_.on(one, message); },
                        [&](const protocol::Look& one) { looks_.on(one, message); },
                        [&](const auto& one) {
                          message.seat.refuse(ErrorCode::kProtocol, std::string(one.kType) + " is not for a worker");
                        }},
             header);
}

void WorkerEngine::unpack(const protocol::Several& several, const DataMessage& message) {
  auto messages =
      message.frames.size() == 2 ? transport::unpack(message.frames[1].text(), several.messages) : std::nullopt;
  if (!messages) return message.seat.refuse(ErrorCode::kProtocol, "what is in it is not so many messages");
  for (transport::Message& frames : *messages) {
    auto header = protocol::decode(frames.front().text(), protocol::kHeaderBytes);
    if (!header)
      message.seat.refuse(std::move(header.error()));
    else if (std::holds_alternative<protocol::Several>(*header))
      message.seat.refuse(ErrorCode::kProtocol, std::string(protocol::Several::kType) + " is not for a worker");
    else
      dispatch(*header, DataMessage{message.session, message.seat, frames});
  }
}

// ---- the supervisor ------------------------------------------------------------------------------------------------

void WorkerEngine::read_supervisor() {
  if (!supervisor_.open()) return;
  supervisor_.receive();
  while (const auto order = supervisor_.next()) obey(*order);
  if (!supervisor_.open()) tasks_.end();
}

void WorkerEngine::obey(const protocol::Header& order) {
  std::visit(Overloaded{[&](const protocol::Admit& one) {
                          if (const auto key = transport::from_z85(one.key)) clients_.admit(one.session, *key);
                        },
                        [&](const protocol::Dismiss& one) { dismiss(one.session); },
                        [&](const protocol::Walltime& one) { supervisor_.on(one); },
                        [&](const protocol::YieldSteps& one) { supervisor_.on(one); },
                        [&](const protocol::RunDetached& one) { tasks_.on(one); },
                        [&](const protocol::EndWorker& one) { one.only_if_idle ? end_if_idle() : tasks_.end(); },
                        [](const auto&) {}},
             order);
}

// Cuts its connection. Otherwise a client that is admitted again would not learn that it has to attach.
void WorkerEngine::dismiss(const SessionId& session) {
  if (const ClientSeat* seat = clients_.seat(session); seat != nullptr && !seat->route.empty())
    sockets_.cut(seat->route);
  tasks_.dismiss(session);
  objects_.dismiss(session);
  clients_.dismiss(session);
  supervisor_.changed();
}

// A task that came before this order is reported at once: the supervisor tells pounced, and the lease goes on.
void WorkerEngine::end_if_idle() {
  if (!tasks_.has_work() && !supervisor_.saving()) return tasks_.end();
  supervisor_.tell_staying();
}

void WorkerEngine::tell_state(NamespaceState state) {
  if (supervisor_.tell_state(state)) tell_activity(Clock::now());
}

void WorkerEngine::tell_activity(TimePoint now) {
  if (!supervisor_.report_due(now, clients_.anyone_connected())) return;
  supervisor_.report(now, tasks_.more_activity(supervisor_.saving()), clients_.last_seen());
}

}  // namespace pounce::worker
