#include "client/engine.h"

#include <algorithm>

#include "base/overloaded.h"
#include "memory/private_memory.h"
#include "messages/sentence.h"
#include "protocol/message_limits.h"

namespace pounce::client {
namespace {

protocol::Attach attach_of(const Setup& setup) {
  protocol::Attach attach = setup.attach;
  attach.session = setup.session.session;
  attach.several = true;
  return attach;
}

// Its function was interrupted before the end of its worker's time, and did not catch that.
bool is_at_limit(const OutcomeWhole& outcome) {
  if (!outcome.incoming || outcome.incoming->header().ok) return false;
  const auto& error = outcome.incoming->header().error;
  return error && error->code == ErrorCode::kWalltimeReached;
}

std::int64_t attached_now() { return Clock::now().time_since_epoch().count(); }

}  // namespace

Engine::Engine(transport::Context& context, KeyPair keys, Setup setup, EventQueue& events)
    : keys_(std::move(keys)),
      is_relay_(setup.session.relays),
      events_(events),
      machine_({},
               [this](const task::WorkerRef& place, const TaskId& task) { return calls_.bytes_there(place, task); }),
      workers_(context, keys_, attach_of(setup)),
      daemon_(context, keys_, std::move(setup.session), workers_, events),
      objects_(workers_),
      calls_(workers_, objects_, daemon_.leases(), events) {}

Engine::~Engine() {
  blocks_for_workers().give_back_all();
  memory::WarmMemory::give_back_all();
}

// ---- turns ----------------------------------------------------------------------------------------------------------

void Engine::turn(int wake_fd, TimePoint until) {
  // A connection on which we sent since the last look may have something to read: look before sleeping.
  if (has_stale()) {
    poll_.clear_changes();
    if (service(Clock::now()) || has_stale()) return;
  }
  wait(wake_fd, std::min(until, next_deadline()));
  service(Clock::now());
}

bool Engine::has_stale() const { return daemon_.connection().descriptors().stale || workers_.has_stale(); }

void Engine::collect(int wake_fd) {
  poll_.begin(wake_fd);
  poll_.add(daemon_.connection().descriptors());
  for (const auto& [place, worker] : workers_.all()) poll_.add(worker.link->connection().descriptors());
}

std::optional<std::vector<pollfd>> Engine::waited_for() {
  if (has_stale()) return std::nullopt;
  collect(-1);
  return poll_.items();
}

void Engine::wait(int wake_fd, TimePoint until) {
  collect(wake_fd);
  quiet_ = !poll_.wait(until, !workers_.any_has_several());
}

TimePoint Engine::next_deadline() const {
  return std::min({daemon_.connection().next_deadline(), daemon_.held().next_deadline(), machine_.next_deadline(),
                   workers_.next_deadline(), blocks_for_workers().next_deadline(),
                   memory::WarmMemory::next_deadline()});
}

// Handles everything that is ready or due. True: a message came.
bool Engine::service(TimePoint now) {
  bool came = false;
  const transport::Descriptors& daemon = daemon_.connection().descriptors();
  if (daemon.stale || poll_.changed(daemon.socket) || poll_.changed(daemon.monitor) ||
      now >= daemon_.connection().next_deadline())
    for (const control::Event& event : daemon_.connection().pump(now)) {
      came = true;
      on_daemon(event);
    }
  std::vector<task::WorkerRef> places;
  places.reserve(workers_.all().size());
  for (const auto& [place, worker] : workers_.all()) places.push_back(place);
  for (const task::WorkerRef& place : places) {
    WorkerLink* link = workers_.link_at(place);
    if (link == nullptr) continue;  // an event of another link disconnected it
    const transport::Descriptors& of = link->connection().descriptors();
    const bool monitor = poll_.changed(of.monitor);
    const bool ready = monitor || of.stale || poll_.changed(of.socket) || poll_.changed(of.bulk);
    if (!ready && now < link->next_deadline()) continue;
    for (LinkEvent& event : link->pump(now, monitor)) {
      came = true;
      on_link(place, std::move(event));
    }
  }
  daemon_.held().release(now, [this](const task::Event& event) {
    happened(event);
    if (const auto* lost = std::get_if<task::LeaseLost>(&event)) daemon_.forget_grants(lost->lease);
  });
  if (now >= machine_.next_deadline()) happened(task::TimePassed{});
  blocks_for_workers().give_back(now);
  memory::WarmMemory::give_back(now);
  workers_.close_retired();
  request_daemon();
  return came;
}

void Engine::request_daemon() {
  if (daemon_.connection().down() && machine_.needs_daemon()) daemon_.request();
}

// ---- the user's calls -----------------------------------------------------------------------------------------------

void Engine::daemon_failed(const Error& error) {
  daemon_.cannot_connect();
  happened(task::DaemonFailed{error});
}

Result<void> Engine::submit(Call call) {
  if (call.objects.size() > protocol::kTaskObjects)
    return failure(Error{ErrorCode::kTooLarge,
                         "The call has " + std::to_string(call.objects.size()) +
                             " handles in its arguments, and one call takes " + std::to_string(protocol::kTaskObjects) +
                             " at most.",
                         "Scatter lists of values instead of single ones, or make several calls of it.",
                         {}});
  task::TaskSubmitted event{call.task, std::move(call.resources), call.retries, call.worker};
  const EventData data{.submitted_ns = call.submitted_ns};
  events_.caller_goes_on();
  calls_.add(std::move(call));
  happened(std::move(event), data);
  request_daemon();
  return {};
}

void Engine::cancel(const TaskId& task, std::chrono::milliseconds grace, bool only_if_queued) {
  happened(task::CancelRequested{task, grace, only_if_queued});
}

std::uint32_t Engine::expect(const Resources& resources, std::int64_t tasks) {
  if (tasks != 0) happened(task::MoreToCome{resources, tasks});
  return machine_.workers_for(resources);
}

bool Engine::move(const TaskId& task, const Resources& resources) {
  if (machine_.state(task) != task::TaskState::kWaiting) return false;
  happened(task::TaskMoved{task, resources});
  request_daemon();
  return true;
}

void Engine::tell(const TaskId& task, const std::vector<Bytes>& message) {
  WorkerLink* link = calls_.link_of(task);
  if (link == nullptr) link = workers_.link_of_shown(task);
  if (link != nullptr) link->connection().send(protocol::Input{task}, message);
}

bool Engine::look(const LeaseId& lease, std::uint32_t question, const Bytes& text) {
  WorkerLink* const link = workers_.link_at({lease, WorkerIndex{0}});
  if (link == nullptr || !link->connection().attached()) return false;
  link->connection().send(protocol::Look{question}, {text});
  return true;
}

std::optional<protocol::LeaseStatus> Engine::lease_status(const TaskId& task) const {
  const auto request = machine_.request_of(task);
  return request ? daemon_.leases().of_request(*request) : std::nullopt;
}

std::vector<protocol::LeaseStatus> Engine::leases_of(const TaskId& task) const {
  std::vector<protocol::LeaseStatus> leases;
  for (const RequestId request : machine_.requests_of(task))
    if (auto status = daemon_.leases().of_request(request)) leases.push_back(*std::move(status));
  return leases;
}

void Engine::close() {
  happened(task::ClientClosing{});
  daemon_.close();
}

// ---- what happened, for the core ------------------------------------------------------------------------------------

void Engine::on_daemon(const control::Event& event) {
  std::visit(Overloaded{[&](const control::Opened&) { happened(task::SessionOpened{}); },
                        [&](const control::Refused& refused) {
                          happened(task::DaemonFailed{refused.error});
                          events_.push(Told{messages::text(refused.error)});
                        },
                        [&](const protocol::Header& header) {
                          if (const auto event = daemon_.take(header)) happened(*event);
                        },
                        [](const control::Lost&) {},         // the end of the turn requests the daemon if it is needed
                        [](const control::Unreadable&) {}},  // its errors come as messages
             event);
}

void Engine::on_link(const task::WorkerRef& place, LinkEvent event) {
  Workers::Worker* const worker = workers_.find(place);
  if (worker == nullptr) return;
  const Epoch epoch = worker->epoch;
  std::visit(
      Overloaded{
          [&](OutcomeWhole& outcome) {
            happened(task::OutcomeArrived{place, epoch, outcome.task, is_at_limit(outcome)}, {.outcome = &outcome});
          },
          [&](TaskPrinted& printed) {
            const bool is_message = printed.stream == "message";
            if (is_message && !printed.task.empty()) worker->shown = printed.task;
            events_.push(Printed{printed.task, printed.stream == "stderr", std::move(printed.text), is_message,
                                 std::move(printed.buffers)});
          },
          [&](const protocol::Started& started) { happened(task::TaskStarted{place, epoch, started.task}); },
          [&](protocol::Leaving& leaving) { happened(task::WorkerLeaving{place, epoch, std::move(leaving.started)}); },
          [&](LinkAttached& attached) {
            if (worker->attached_ns == 0) worker->attached_ns = attached_now();
            worker->who = std::move(attached.who);
            objects_.drop_unneeded(place, *worker->link);
            happened(task::WorkerAttached{place, epoch});
          },
          [&](const LinkLost&) {
            objects_.peer_transfers().gone(place);
            happened(task::WorkerUnreachable{place, epoch});
          },
          [&](const LinkSilent&) {
            objects_.peer_transfers().slow(place);
            happened(task::WorkerSilent{place, epoch});
          },
          [&](const LinkSeen&) { happened(task::WorkerSeen{place, epoch}); },
          [&](const LinkRefused& refused) { happened(task::WorkerRefusedUs{place, epoch, refused.error}); },
          [&](const protocol::Have& have) {
            objects_.peer_transfers().has(place, have.object);
            if (objects_.objects().find(have.object) == nullptr) objects_.drop_unneeded(place, *worker->link);
          },
          [&](const protocol::Serve& answer) { objects_.peer_transfers().answered(place, answer); },
          [&](const protocol::NotFetched& object) { objects_.peer_transfers().not_fetched(place, object.object); },
          [&](ObjectRefused& refused) { on_object_refused(place, refused); },
          [&](const protocol::QueryIs& answer) {
            for (std::size_t i = 0; i < std::min(answer.tasks.size(), answer.states.size()); ++i)
              happened(task::QueryAnswered{place, epoch, answer.tasks[i], answer.states[i]});
          }},
      event);
}

// The calls that the object was sent for fail; waiting calls try it themselves.
void Engine::on_object_refused(const task::WorkerRef& place, ObjectRefused& refused) {
  objects_.peer_transfers().refused(place, refused.object);
  refused.error = daemon_.leases().with_evidence(std::move(refused.error), place.lease);
  refused.error.object = refused.object.hex();
  std::vector<TaskId> sent = calls_.that_need(refused.object, place);
  std::erase_if(sent, [this](const TaskId& task) { return machine_.state(task) == task::TaskState::kWaiting; });
  for (const TaskId& task : sent) happened(task::TaskUnsendable{task, refused.error});
}

// ---- the core's orders ----------------------------------------------------------------------------------------------

void Engine::happened(const task::Event& event, const EventData& data) {
  for (const task::Action& action : machine_.handle(event, Clock::now())) perform(action, data);
}

void Engine::perform(const task::Action& action, const EventData& data) {
  std::visit(Overloaded{[&](const task::SendTask& order) { calls_.send(order, data); },
                        [&](const task::Acknowledge& order) { calls_.acknowledge(order, data); },
                        [&](const task::Deliver& order) { calls_.deliver(order, data); },
                        [&](const task::Fail& order) { calls_.fail(order); },
                        [&](const task::Connect& order) {
                          if (const Grant* grant = daemon_.grant_of(order.place, order.epoch))
                            workers_.connect(order.place, *grant);
                        },
                        [&](const task::Disconnect& order) {
                          if (workers_.disconnect(order.place)) objects_.peer_transfers().gone(order.place);
                        },
                        [&](const task::SendCancel& order) {
                          const auto grace_ms = static_cast<std::uint32_t>(order.grace.count());
                          if (WorkerLink* link = workers_.link_at(order.place))
                            link->tasks().cancel({order.task, grace_ms, order.only_if_queued});
                        },
                        [&](const task::SendQuery& order) {
                          if (WorkerLink* link = workers_.link_at(order.place))
                            link->tasks().query(order.tasks, !is_relay_);
                        },
                        [&](const task::TellReach& order) { daemon_.tell_reach(order); },
                        [&](const task::SendDemand& order) { daemon_.send_demand(order.requests); }},
             action);
}

// ---- the descriptors of one turn ------------------------------------------------------------------------------------

void TurnPoll::begin(int wake_fd) {
  polled_.clear();
  polled_.push_back({wake_fd, POLLIN, 0});
}

void TurnPoll::add(const transport::Descriptors& descriptors) {
  polled_.push_back({descriptors.socket, static_cast<short>(POLLIN | (descriptors.unsent ? POLLOUT : 0)), 0});
  polled_.push_back({descriptors.monitor, POLLIN, 0});
  if (descriptors.bulk >= 0) polled_.push_back({descriptors.bulk, POLLIN, 0});
}

bool TurnPoll::wait(TimePoint until, bool spins) {
  const auto left = std::clamp<std::int64_t>((until - Clock::now()).count(), 0, 86'400'000'000'000);
  const timespec limit = {left / 1'000'000'000, left % 1'000'000'000};
  const int ready = spins ? spin_.poll(polled_.data(), polled_.size(), limit)
                          : ::ppoll(polled_.data(), polled_.size(), &limit, nullptr);
  if (ready <= 0) clear_changes();
  return ready > 0;
}

void TurnPoll::clear_changes() {
  for (pollfd& item : polled_) item.revents = 0;
}

bool TurnPoll::changed(int fd) const {
  return fd >= 0 &&
         std::ranges::any_of(polled_, [fd](const pollfd& item) { return item.fd == fd && item.revents != 0; });
}

}  // namespace pounce::client
