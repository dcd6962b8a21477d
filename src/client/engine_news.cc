// The engine's other half: what comes in from pounced and from the workers becomes events of the core, and each
// lease's last status is kept.

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "client/engine.h"
#include "messages/sentence.h"

namespace pounce::client {
namespace {

// docs/states.md: in these states of a lease its job runs.
constexpr std::array<std::string_view, 4> kRunning = {"starting", "idle", "busy", "draining"};

}  // namespace

void LeaseCache::update(const protocol::LeaseStatus& status, std::int64_t now_ns) {
  status_[status.lease] = status;
  latest_[status.request] = status.lease;
  if (std::ranges::find(kRunning, status.state) != kRunning.end()) started_ns_.try_emplace(status.lease, now_ns);
}

void LeaseCache::forget(const LeaseId& lease) {
  status_.erase(lease);
  started_ns_.erase(lease);
  std::erase_if(latest_, [&](const auto& entry) { return entry.second == lease; });
}

std::optional<protocol::LeaseStatus> LeaseCache::of_request(RequestId request) const {
  const auto latest = latest_.find(request);
  return latest == latest_.end() ? std::nullopt : of_lease(latest->second);
}

std::optional<protocol::LeaseStatus> LeaseCache::of_lease(const LeaseId& lease) const {
  const auto found = status_.find(lease);
  return found == status_.end() ? std::nullopt : std::optional(found->second);
}

Error LeaseCache::with_job(Error error) const {
  const auto named = error.context.find("lease");
  if (named == error.context.end()) return error;
  const auto status = of_lease(LeaseId::from_hex(named->second).value_or(LeaseId{}));
  if (status && status->job != 0) error.context.try_emplace("job", std::to_string(status->job));
  return error;
}

std::vector<protocol::LeaseStatus> LeaseCache::all() const {
  std::vector<protocol::LeaseStatus> all;
  for (const auto& [lease, status] : status_) all.push_back(status);
  return all;
}

std::int64_t LeaseCache::started_ns(const LeaseId& lease) const {
  const auto found = started_ns_.find(lease);
  return found == started_ns_.end() ? 0 : found->second;
}

namespace {

// Results that a death has overtaken are in our kernel's buffers: the connection is read to its end within this time.
constexpr std::chrono::milliseconds kOvertaken{300};

// Which tasks that interpreter had started, as its supervisor read it from their shared page (docs/protocol.md §7).
std::optional<std::vector<TaskId>> started_tasks(const Error& error) {
  const auto words = error.context.find("started");
  if (words == error.context.end()) return std::nullopt;
  std::vector<TaskId> tasks;
  std::istringstream list(words->second);
  for (std::string word; std::getline(list, word, ',');) {
    const auto task = TaskId::from_hex(word);
    if (!task) return std::nullopt;
    tasks.push_back(*task);
  }
  return tasks;
}

PublicKey dead_key(const Error& error) {
  const auto word = error.context.find("key");
  return word == error.context.end() ? PublicKey{} : transport::from_z85(word->second).value_or(PublicKey{});
}

std::int64_t steady_nanoseconds() { return Clock::now().time_since_epoch().count(); }

std::int64_t not_negative(std::int64_t ns) { return std::max<std::int64_t>(ns, 0); }

}  // namespace

// ---- pounced --------------------------------------------------------------------------------------------------

void Engine::on_daemon(const control::Event& event) {
  if (std::holds_alternative<control::Opened>(event)) {
    happened(task::SessionOpened{});
  } else if (const auto* refused = std::get_if<control::Refused>(&event)) {
    happened(task::DaemonFailed{refused->error});
    news_.push(Told{messages::text(refused->error)});
  } else if (const auto* header = std::get_if<protocol::Header>(&event)) {
    on_message(*header);
  }
  // Lost: the end of the turn asks for the daemon if it is needed. Unreadable: its errors come as messages.
}

void Engine::on_message(const protocol::Header& header) {
  if (const auto* granted = std::get_if<protocol::Granted>(&header)) {
    on_granted(*granted);
  } else if (const auto* status = std::get_if<protocol::LeaseStatus>(&header)) {
    on_status(*status);
  } else if (const auto* down = std::get_if<protocol::WorkerDown>(&header)) {
    const task::Place place{down->lease, down->worker};
    hold_back(task::WorkerDied{place, down->epoch, down->error, started_tasks(down->error), dead_key(down->error)},
              kOvertaken, down->lease, down->worker);
  } else if (const auto* ended = std::get_if<protocol::LeaseEnded>(&header)) {
    hold_back(task::LeaseLost{ended->request, ended->lease, ended->error},
              std::max<Duration>(read_to_the_end_, kOvertaken), ended->lease, std::nullopt);
    cache_.forget(ended->lease);
    news_.push(StatusChanged{ended->request});
    if (ended->error.context.contains("given_back")) news_.push(GivenBack{ended->request, ended->error.context});
  } else if (const auto* failed = std::get_if<protocol::RequestFailed>(&header)) {
    happened(task::RequestRefused{failed->request, failed->error});
  } else if (const auto* queue = std::get_if<protocol::QueueIs>(&header)) {
    news_.push(QueueShown{*queue});
  } else if (const auto* classes = std::get_if<protocol::ClassesIs>(&header)) {
    news_.push(ClassesShown{*classes});
  } else if (const auto* status_is = std::get_if<protocol::StatusIs>(&header)) {
    news_.push(StatusShown{*status_is});
  } else if (const auto* names = std::get_if<protocol::DetachedList>(&header)) {
    news_.push(NamesShown{*names});
  } else if (const auto* notice = std::get_if<protocol::Notice>(&header)) {
    news_.push(Told{notice->text});
  }
}

void Engine::on_granted(const protocol::Granted& granted) {
  const auto key = transport::from_z85(granted.key);
  if (!key) return;
  const task::Place place{granted.lease, granted.worker};
  cache_.granted(granted.lease, steady_nanoseconds());
  grants_[place] = Grant{granted.epoch, granted.endpoint, *key};
  happened(task::WorkerGranted{granted.request, place, granted.epoch, *key});
}

void Engine::on_status(const protocol::LeaseStatus& status) {
  cache_.update(status, steady_nanoseconds());
  news_.push(StatusChanged{status.request});
  happened(task::RequestBound{status.request,
                              status.cause.code == CauseCode::kStartRate || !status.wait.limit.what.empty()});
}

void Engine::hold_back(task::Event event, Duration most, const LeaseId& lease, std::optional<WorkerIndex> worker) {
  HeldEvent held{std::move(event), lease, {}, Clock::now() + most};
  for (const auto& [place, peer] : peers_)
    if (place.lease == lease && (!worker || place.worker == *worker)) held.places.push_back(place);
  held_events_.push_back(std::move(held));
}

// Nothing more can come from its workers, or it has taken too long.
bool Engine::may_be_told(const HeldEvent& held, TimePoint now) {
  return now >= held.due || std::ranges::none_of(held.places, [this](const task::Place& place) {
           const WorkerLink* link = link_at(place);
           return link != nullptr && link->connected();
         });
}

// Tells the events of one lease in the order in which they came: its end does not overtake its worker's death.
void Engine::release_held(TimePoint now) {
  std::set<LeaseId> waiting;
  for (std::size_t next = 0; next < held_events_.size();) {
    if (waiting.contains(held_events_[next].lease) || !may_be_told(held_events_[next], now)) {
      waiting.insert(held_events_[next++].lease);
      continue;
    }
    const HeldEvent held = std::move(held_events_[next]);
    held_events_.erase(held_events_.begin() + static_cast<std::ptrdiff_t>(next));
    happened(held.event);
    if (const auto* lost = std::get_if<task::LeaseLost>(&held.event))
      std::erase_if(grants_, [&](const auto& entry) { return entry.first.lease == lost->lease; });
  }
}

void Engine::tell_reach(const task::TellReach& order) {
  const auto status = cache_.of_lease(order.place.lease);
  std::string worker = "the worker";
  if (status && !status->node.empty()) worker += " on " + status->node;
  if (status && status->job != 0) worker += " (job " + std::to_string(status->job) + ")";
  news_.push(Told{worker + (order.reachable ? " can be reached again."
                                            : " is unreachable. Its task may go on there: wait until the network is "
                                              "back, or until the batch system ends the job.")});
}

// ---- workers ----------------------------------------------------------------------------------------------------

void Engine::on_link(const task::Place& place, LinkEvent event) {
  const auto peer = peers_.find(place);
  if (peer == peers_.end()) return;
  const Epoch epoch = peer->second.epoch;
  if (auto* outcome = std::get_if<OutcomeWhole>(&event)) {
    on_outcome(place, *outcome);
  } else if (auto* printed = std::get_if<TaskPrinted>(&event)) {
    if (printed->stream == "message") peer->second.shown = printed->task;
    news_.push(Printed{printed->task, printed->stream == "stderr", std::move(printed->text),
                       printed->stream == "message", std::move(printed->buffers)});
  } else if (const auto* started = std::get_if<protocol::Started>(&event)) {
    happened(task::TaskStarted{place, epoch, started->task});
  } else if (auto* leaving = std::get_if<protocol::Leaving>(&event)) {
    happened(task::WorkerLeaving{place, epoch, std::move(leaving->started)});
  } else if (auto* attached = std::get_if<LinkAttached>(&event)) {
    if (peer->second.attached_ns == 0) peer->second.attached_ns = steady_nanoseconds();
    peer->second.who = std::move(attached->who);
    drop_unneeded(place, *peer->second.link);
    happened(task::WorkerAttached{place, epoch});
  } else if (std::holds_alternative<LinkLost>(event)) {
    relay_.gone(place);
    happened(task::WorkerUnreachable{place, epoch});
  } else if (std::holds_alternative<LinkSilent>(event)) {
    relay_.slow(place);
    happened(task::WorkerSilent{place, epoch});
  } else if (std::holds_alternative<LinkSeen>(event)) {
    happened(task::WorkerSeen{place, epoch});
  } else if (const auto* have = std::get_if<protocol::Have>(&event)) {
    relay_.has(place, have->object);
    if (WorkerLink* link = link_at(place); link != nullptr && objects_.find(have->object) == nullptr)
      drop_unneeded(place, *link);
  } else if (const auto* answer = std::get_if<protocol::Serve>(&event)) {
    relay_.answered(place, *answer);
  } else if (const auto* not_fetched = std::get_if<protocol::NotFetched>(&event)) {
    relay_.not_fetched(place, not_fetched->object);
  } else if (auto* no_object = std::get_if<ObjectRefused>(&event)) {
    on_object_refused(place, *no_object);
  } else if (const auto* refused = std::get_if<LinkRefused>(&event)) {
    happened(task::WorkerRefusedUs{place, epoch, refused->error});
  } else if (const auto* answer = std::get_if<protocol::QueryIs>(&event)) {
    for (std::size_t i = 0; i < std::min(answer->tasks.size(), answer->states.size()); ++i)
      happened(task::QueryAnswered{place, epoch, answer->tasks[i], answer->states[i]});
  }
}

// The calls that the object was sent for fail; waiting calls try it themselves.
void Engine::on_object_refused(const task::Place& place, ObjectRefused& refused) {
  relay_.refused(place, refused.object);
  refused.error.context.try_emplace("lease", place.lease.hex());
  std::vector<TaskId> sent;
  for (const auto& [task, one] : under_way_)
    if (one.place == place && std::ranges::count(one.call.objects, refused.object) > 0 &&
        machine_.state(task) != task::TaskState::kWaiting)
      sent.push_back(task);
  for (const TaskId& task : sent) happened(task::TaskUnsendable{task, refused.error});
}

void Engine::on_outcome(const task::Place& place, OutcomeWhole& outcome) {
  arriving_ = &outcome;
  happened(task::OutcomeArrived{place, peers_.at(place).epoch, outcome.task});
  arriving_ = nullptr;
}

void Engine::deliver(const TaskId& task) {
  const auto found = under_way_.find(task);
  if (found == under_way_.end() || arriving_ == nullptr) return;
  Ended ended;
  ended.task = task;
  if (arriving_->incoming) {
    Incoming& incoming = *arriving_->incoming;
    ended.ok = incoming.header().ok;
    if (!ended.ok) ended.error = incoming.header().error.value_or(Error{});
    ended.timings = timings_of(found->second, incoming.header(), arriving_->received_ns);
    ended.pickle = incoming.take_pickle();
    ended.buffers = incoming.take_buffers();
    ended.raised = !ended.ok && !ended.pickle.bytes.empty();
  } else {
    ended.error = arriving_->incoming.error();
  }
  if (!ended.ok) {
    const auto peer = peers_.find(found->second.place);
    if (peer != peers_.end()) {
      ended.error.context.emplace("node", peer->second.who.node);
      ended.error.context.emplace("devices", peer->second.who.devices);
    }
  }
  end(std::move(ended));
}

Timings Engine::timings_of(const UnderWay& under_way, const protocol::Outcome& outcome,
                           std::int64_t received_ns) const {
  Timings timings;
  const auto peer = peers_.find(under_way.place);
  if (peer == peers_.end()) return timings;
  const ClockOffset& clock = peer->second.link->clock();
  const std::int64_t submitted = under_way.call.submitted_ns, sent = under_way.sent_ns;
  // The wait has three parts: for the job, for the job's Python, and for room there. The first and the last are the
  // queue.
  const std::int64_t started = std::clamp(cache_.started_ns(under_way.place.lease), submitted, sent);
  const std::int64_t ready = std::clamp(peer->second.attached_ns, started, sent);
  timings.queue_ns = (started - submitted) + (sent - ready);
  timings.boot_ns = ready - started;
  const bool ran = outcome.run.run_start_ns != 0;  // else its arguments could not be unpickled there
  const std::int64_t run_start = ran ? outcome.run.run_start_ns : outcome.received_ns;
  const std::int64_t run_end = ran ? outcome.run.run_end_ns : run_start;
  timings.send_ns =
      not_negative(clock.to_ours(outcome.received_ns) - sent) + not_negative(run_start - outcome.received_ns);
  timings.run_ns = run_end - run_start;
  timings.receive_ns =
      not_negative(outcome.sent_ns - run_end) + not_negative(received_ns - clock.to_ours(outcome.sent_ns));
  timings.arrived_ns = received_ns;
  timings.figures = outcome.run;
  return timings;
}

}  // namespace pounce::client
