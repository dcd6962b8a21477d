// The engine's frame: turns, the user's calls, and the core's orders carried out.
#include "client/engine.h"

#include <algorithm>
#include <utility>

#include "base/overloaded.h"
#include "protocol/message_limits.h"

namespace pounce::client {
namespace {

// pounced answers a hello at once. Without an answer for this long it counts as stopped, and the client requests
// another.
constexpr std::chrono::seconds kHandshake{10};
// Beats that may go unanswered before pounced counts as gone.
constexpr int kSilentBeats = 3;
// How many results that other calls wait for keep the descriptor of their memory, since a process has few
// descriptors. Any more are sent as a copy.
constexpr std::size_t kMostShared = 64;

std::int64_t nanoseconds(TimePoint when) { return when.time_since_epoch().count(); }

// Each new connection opens the session under the same id, so that a restarted pounced knows us.
control::Manner manner(const protocol::OpenSession& session) {
  control::Manner manner{.hello = {}, .patience = {kHandshake, kSilentBeats}, .first = session};
  manner.hello.session = session.session.hex();
  return manner;
}

}  // namespace

Engine::Engine(transport::Context& context, KeyPair keys, Setup setup, NewsQueue& news)
    : context_(context),
      keys_(std::move(keys)),
      setup_(std::move(setup)),
      news_(news),
      machine_({}, [this](const task::Place& place, const TaskId& task) { return bytes_there(place, task); }),
      daemon_(context, keys_, manner(setup_.session)) {}

Engine::~Engine() = default;

void Engine::turn(int wake_fd, TimePoint until) {
  // A connection on which we sent since the last look may have something to read: look before sleeping.
  if (has_stale()) {
    came_ = false;
    for (pollfd& item : polled_) item.revents = 0;
    service(Clock::now());
    if (came_ || has_stale()) return;
  }
  wait(wake_fd, std::min(until, next_deadline()));
  service(Clock::now());
}

bool Engine::has_stale() const {
  return daemon_.descriptors().stale ||
         std::ranges::any_of(peers_, [](const auto& entry) { return entry.second.link->descriptors().stale; });
}

void Engine::wait(int wake_fd, TimePoint until) {
  polled_.clear();
  polled_.push_back({wake_fd, POLLIN, 0});
  const auto add = [this](const transport::Descriptors& descriptors) {
    polled_.push_back({descriptors.socket, static_cast<short>(POLLIN | (descriptors.unsent ? POLLOUT : 0)), 0});
    polled_.push_back({descriptors.monitor, POLLIN, 0});
    if (descriptors.bulk >= 0) polled_.push_back({descriptors.bulk, POLLIN, 0});
  };
  add(daemon_.descriptors());
  for (const auto& [place, peer] : peers_) add(peer.link->descriptors());
  const auto left = std::clamp<std::int64_t>((until - Clock::now()).count(), 0, 86'400'000'000'000);
  const timespec limit = {left / 1'000'000'000, left % 1'000'000'000};
  const int ready = spin_.poll(polled_.data(), polled_.size(), limit);
  quiet_ = ready <= 0;
  if (ready <= 0)
    for (pollfd& item : polled_) item.revents = 0;
}

bool Engine::changed(int fd) const {
  return fd >= 0 &&
         std::ranges::any_of(polled_, [fd](const pollfd& item) { return item.fd == fd && item.revents != 0; });
}

TimePoint Engine::next_deadline() const {
  TimePoint next = std::min(daemon_.next_deadline(), machine_.next_deadline());
  for (const auto& [place, peer] : peers_) next = std::min(next, peer.link->next_deadline());
  for (const HeldEvent& held : held_events_) next = std::min(next, held.due);
  return next;
}

void Engine::service(TimePoint now) {
  const transport::Descriptors& daemon = daemon_.descriptors();
  if (daemon.stale || changed(daemon.socket) || changed(daemon.monitor) || now >= daemon_.next_deadline())
    for (const control::Event& event : daemon_.pump(now)) {
      came_ = true;
      on_daemon(event);
    }
  std::vector<task::Place> places;
  places.reserve(peers_.size());
  for (const auto& [place, peer] : peers_) places.push_back(place);
  for (const task::Place& place : places) {
    WorkerLink* link = link_at(place);
    if (link == nullptr) continue;  // an event of another link disconnected it
    const transport::Descriptors& of = link->descriptors();
    const bool monitor = changed(of.monitor);
    if (!monitor && !of.stale && !changed(of.socket) && !changed(of.bulk) && now < link->next_deadline()) continue;
    for (LinkEvent& event : link->pump(now, monitor)) {
      came_ = true;
      on_link(place, std::move(event));
    }
  }
  release_held(now);
  if (now >= machine_.next_deadline()) happened(task::TimePassed{});
  retired_.clear();
  ask_for_daemon();
}

WorkerLink* Engine::link_at(const task::Place& place) {
  const auto found = peers_.find(place);
  return found == peers_.end() ? nullptr : found->second.link.get();
}

// ---- the user's calls ----------------------------------------------------------------------------------------

Result<void> Engine::set_daemon(const protocol::EndpointFile& endpoint) {
  awaits_daemon_ = false;
  const auto address = control::address_of(endpoint, control::Reach::kThisMachine);
  if (!address)
    return failure(ErrorCode::kDaemonUnavailable,
                   "pounced's endpoint file names no handshake endpoint on this machine.");
  daemon_.connect(*address, Clock::now());
  return {};
}

void Engine::daemon_failed(const Error& error) {
  awaits_daemon_ = false;
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
  const TaskId task = call.task;
  const task::TaskSubmitted event{task, call.resources, call.retries, call.worker};
  for (const ObjectId& id : call.objects) objects_.hold(id);
  now_ns_ = call.submitted_ns;
  under_way_.emplace(task, UnderWay{std::move(call), 0, {}, false});
  happened(event);
  now_ns_ = 0;
  ask_for_daemon();
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
  ask_for_daemon();
  return true;
}

void Engine::tell(const TaskId& task, const std::vector<Buffer>& message) {
  const auto found = under_way_.find(task);
  WorkerLink* link = found == under_way_.end() ? nullptr : link_at(found->second.place);
  for (const auto& [place, peer] : peers_)
    if (link == nullptr && peer.shown == task) link = peer.link.get();
  if (link != nullptr) link->send(protocol::Input{task}, message);
}

std::optional<protocol::LeaseStatus> Engine::lease_status(const TaskId& task) const {
  const auto request = machine_.request_of(task);
  return request ? cache_.of_request(*request) : std::nullopt;
}

std::vector<protocol::LeaseStatus> Engine::leases_of(const TaskId& task) const {
  std::vector<protocol::LeaseStatus> leases;
  for (const RequestId request : machine_.requests_of(task))
    if (auto status = cache_.of_request(request)) leases.push_back(*std::move(status));
  return leases;
}

HolderNumber Engine::hold_object(const ObjectId& id, Object object, bool send_now) {
  const HolderNumber holder = objects_.hold(id, std::move(object));
  if (send_now) send_ahead(id);
  return holder;
}

// Sends the object to one worker of each lease, the one that was given least. Calls that need it prefer that worker;
// any other worker gets it when a call there needs it.
void Engine::send_ahead(const ObjectId& id) {
  struct Chosen {
    task::Place place;
    WorkerLink* link = nullptr;  // null: the lease has it
  };
  std::map<LeaseId, Chosen> chosen;
  const std::string& device = objects_.find(id)->device;
  for (auto& [place, peer] : peers_) {
    if (!peer.link->attached() || !peer.link->may_have(device)) continue;
    Chosen& one = chosen.try_emplace(place.lease, Chosen{place, peer.link.get()}).first->second;
    if (peer.link->held().contains(id))
      one.link = nullptr;
    else if (one.link != nullptr && peer.link->held().bytes() < one.link->held().bytes())
      one = {place, peer.link.get()};
  }
  for (const auto& [lease, one] : chosen) {
    if (one.link == nullptr || !one.link->send_object(id, *objects_.find(id))) continue;
    relay_.see_to_wanted(one.place);
    one.link->flush();
  }
}

std::uint64_t Engine::bytes_there(const task::Place& place, const TaskId& task) {
  const auto found = under_way_.find(task);
  WorkerLink* link = link_at(place);
  if (found == under_way_.end() || link == nullptr) return 0;
  std::uint64_t bytes = 0;
  for (const ObjectId& id : found->second.call.objects) bytes += link->held().bytes_of(id);
  return bytes;
}

void Engine::release_object(const ObjectId& id, HolderNumber holder) {
  objects_.release(id, holder);
  forget_unheld(id);
  for (auto& [place, peer] : peers_) drop_unneeded(place, *peer.link);
}

bool Engine::keep_result(const TaskId& task) {
  const auto found = under_way_.find(task);
  if (found == under_way_.end()) return false;
  found->second.keeps = true;
  if (WorkerLink* link = link_at(found->second.place)) link->keep_outcome(task, true);
  return true;
}

std::optional<Engine::KeptResult> Engine::take_kept(const TaskId& task) {
  auto kept = kept_results_.extract(task);
  return kept ? std::optional(kept.mapped()) : std::nullopt;
}

void Engine::let_go(const ObjectId& id) {
  objects_.release(id);
  forget_unheld(id);
}

void Engine::forget_unheld(const ObjectId& id) {
  if (objects_.find(id) != nullptr) return;
  relay_.forget(id);
  for (auto& [place, peer] : peers_) peer.link->held().let_go(id);
}

std::uint32_t Engine::ask(const protocol::Header& question, std::uint32_t last_opening) {
  if (daemon_.down()) want_daemon();
  if (daemon_.open() && daemon_.opening() != last_opening) daemon_.send(question, Clock::now());
  return daemon_.opening();
}

void Engine::close() {
  closed_ = true;
  happened(task::ClientClosing{});
  daemon_.send(protocol::CloseSession{setup_.session.session}, Clock::now());
  // The answer shows that CloseSession was read.
  daemon_.send(protocol::Beat{false, nanoseconds(Clock::now()), 0}, Clock::now());
}

void Engine::ask_for_daemon() {
  if (daemon_.down() && machine_.needs_daemon()) want_daemon();
}

void Engine::want_daemon() {
  if (awaits_daemon_ || closed_) return;
  awaits_daemon_ = true;
  news_.push(DaemonNeeded{});
}

// ---- the core's orders ---------------------------------------------------------------------------------------

void Engine::happened(const task::Event& event) {
  for (const task::Action& action : machine_.handle(event, Clock::now())) perform(action);
}

void Engine::perform(const task::Action& action) {
  std::visit(
      Overloaded{[&](const task::SendTask& order) { send_task(order); },
                 [&](const task::Acknowledge& order) { acknowledge(order); },
                 [&](const task::Deliver& order) { deliver(order.task); },
                 [&](const task::Fail& order) { fail(order); }, [&](const task::Connect& order) { connect(order); },
                 [&](const task::Disconnect& order) { disconnect(order.place); },
                 [&](const task::SendCancel& order) { send_cancel(order); },
                 [&](const task::SendQuery& order) {
                   if (WorkerLink* link = link_at(order.place)) link->query(order.tasks, !setup_.session.relays);
                 },
                 [&](const task::TellReach& order) { tell_reach(order); },
                 [&](const task::SendDemand& order) { send_demand(order); }},
      action);
}

void Engine::fail(const task::Fail& order) {
  Ended ended;
  ended.task = order.task;
  ended.error = cache_.with_job(order.error);
  end(std::move(ended));
}

void Engine::disconnect(const task::Place& place) {
  const auto found = peers_.find(place);
  if (found == peers_.end()) return;
  retired_.push_back(std::move(found->second.link));
  peers_.erase(found);
  relay_.gone(place);
}

void Engine::send_cancel(const task::SendCancel& order) {
  const auto grace_ms = static_cast<std::uint32_t>(order.grace.count());
  if (WorkerLink* link = link_at(order.place)) link->cancel({order.task, grace_ms, order.only_if_queued});
}

void Engine::connect(const task::Connect& order) {
  const auto grant = grants_.find(order.place);
  if (grant == grants_.end() || grant->second.epoch != order.epoch) return;
  protocol::Attach attach = setup_.attach;
  attach.session = setup_.session.session;
  attach.needs = needs_;
  attach.imports = imports_;
  attach.several = true;
  peers_[order.place] = Peer{order.epoch,
                             std::make_unique<WorkerLink>(context_, keys_, grant->second.endpoint, grant->second.key,
                                                          std::move(attach), Clock::now()),
                             {},
                             0,
                             {}};
}

void Engine::send_task(const task::SendTask& order) {
  WorkerLink* link = link_at(order.place);
  const auto found = under_way_.find(order.task);
  if (link == nullptr || found == under_way_.end()) return;
  if (WorkerLink* last = link_at(found->second.place)) last->functions().ended(order.task);
  found->second.place = order.place;
  // A task that its own submit() sends has never waited: the time spent on pickling counts as sending.
  found->second.sent_ns = now_ns_ != 0 ? now_ns_ : nanoseconds(Clock::now());
  if (found->second.keeps) link->keep_outcome(order.task, true);
  link->send_task(found->second.call, order.attempt, objects_);
  relay_.see_to_wanted(order.place);
}

void Engine::acknowledge(const task::Acknowledge& order) {
  WorkerLink* link = link_at(order.place);
  if (link == nullptr) return;
  if (const ObjectId kept = keep_arriving(order); !kept.empty() && link->may_keep(*objects_.find(kept))) {
    link->acknowledge_kept(order.task, kept, *objects_.find(kept));
    return relay_.made(order.place, kept);
  }
  link->acknowledge(order.task, Clock::now());
  const bool is_large = arriving_ != nullptr && arriving_->incoming && arriving_->incoming->chunked();
  if (!is_large) return;
  link->post_acknowledgements();  // the worker keeps its memory until then
  link->flush();
}

// Runs before the user has any of the result and may change it. Empty: the result is not kept.
ObjectId Engine::keep_arriving(const task::Acknowledge& order) {
  if (arriving_ == nullptr || !arriving_->incoming || !arriving_->incoming->kept()) return {};
  if (!arriving_->incoming->header().ok) return {};
  const auto found = under_way_.find(order.task);
  if (found == under_way_.end() || found->second.place != order.place) return {};
  const ObjectId id = protocol::object_of(order.task);
  std::erase_if(shared_, [](const auto& memory) { return memory.expired(); });
  const bool share = arriving_->incoming->came_as_memory() && shared_.size() < kMostShared;
  if (share) shared_.push_back(arriving_->incoming->kept_memory());
  Object object = arriving_->incoming->object(share);
  const std::uint64_t bytes = object.total_bytes();
  kept_results_[order.task] = {id, objects_.hold(id, std::move(object)), bytes};
  return id;
}

void Engine::send_demand(const task::SendDemand& order) {
  daemon_.send(protocol::Demand{setup_.session.session, order.requests}, Clock::now());
}

void Engine::end(Ended ended) {
  const auto found = under_way_.find(ended.task);
  if (found != under_way_.end()) {
    for (const ObjectId& id : found->second.call.objects) let_go(id);
    const auto place = found->second.place;
    const bool keeps = found->second.keeps;
    under_way_.erase(found);
    if (WorkerLink* link = link_at(place)) {
      link->functions().ended(ended.task);
      if (keeps) link->keep_outcome(ended.task, false);
      drop_unneeded(place, *link);
    }
  }
  if (!ended.ok)
    if (const auto kept = take_kept(ended.task)) release_object(kept->id, kept->holder);
  news_.push(std::move(ended));
}

void Engine::drop_unneeded(const task::Place& place, WorkerLink& link) {
  const auto needed = [this](const ObjectId& id) { return objects_.find(id) != nullptr; };
  protocol::Drop unneeded{link.held().drop_parts(needed), link.functions().drop_over(HeldFunctions::kBudgetBytes)};
  for (bool more = true; more; unneeded = {}) {
    const auto dropped = link.held().drop_over(HeldObjects::kBudgetBytes, needed);
    unneeded.objects.insert(unneeded.objects.end(), dropped.begin(), dropped.end());
    for (const ObjectId& id : unneeded.objects) relay_.dropped(place, id);
    if (!unneeded.objects.empty() || !unneeded.functions.empty()) link.send(unneeded);
    more = dropped.size() == HeldObjects::kMostDropped;
  }
}

}  // namespace pounce::client
