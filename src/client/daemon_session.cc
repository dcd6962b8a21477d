#include "client/daemon_session.h"

#include <array>
#include <string_view>

#include "base/overloaded.h"

namespace pounce::client {
namespace {

// docs/states.md: in these states of a lease its job runs.
constexpr std::array<std::string_view, 4> kRunning = {"starting", "idle", "busy", "draining"};

// Results that a death has overtaken are in our kernel's buffers: the connection is read to its end within this time.
constexpr std::chrono::milliseconds kOvertaken{300};

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

Error LeaseCache::with_evidence(Error error, const LeaseId& lease) const {
  error.context.try_emplace("lease", lease.hex());
  const auto status = of_lease(lease);
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

// ---- what may have overtaken results ------------------------------------------------------------------------------

void DelayedEvents::hold(task::WorkerDied event) {
  const task::WorkerRef place = event.place;
  hold(std::move(event), kOvertaken, place.lease, place.worker);
}

void DelayedEvents::hold(task::LeaseLost event) {
  const LeaseId lease = event.lease;
  hold(std::move(event), std::max<Duration>(read_to_the_end_, kOvertaken), lease, std::nullopt);
}

void DelayedEvents::hold(task::Event event, Duration most, const LeaseId& lease, std::optional<WorkerIndex> worker) {
  Held held{std::move(event), lease, {}, Clock::now() + most};
  for (const auto& [place, one] : workers_.all())
    if (place.lease == lease && (!worker || place.worker == *worker)) held.places.push_back(place);
  held_.push_back(std::move(held));
}

TimePoint DelayedEvents::next_deadline() const {
  TimePoint next = TimePoint::max();
  for (const Held& held : held_) next = std::min(next, held.due);
  return next;
}

// Nothing more can come from its workers, or it has taken too long.
bool DelayedEvents::may_be_told(const Held& held, TimePoint now) const {
  return now >= held.due || std::ranges::none_of(held.places, [this](const task::WorkerRef& place) {
           const WorkerLink* link = workers_.link_at(place);
           return link != nullptr && link->connection().connected();
         });
}

// ---- the session ----------------------------------------------------------------------------------------------------

namespace {

// pounced answers a hello at once. Without an answer for this long it counts as stopped, and the client requests
// another.
constexpr std::chrono::seconds kHandshake{10};
// Beats that may go unanswered before pounced counts as gone.
constexpr int kSilentBeats = 3;

// Each new connection opens the session under the same id, so that a restarted pounced knows us.
control::Manner manner(const protocol::OpenSession& session) {
  control::Manner manner{.hello = {}, .patience = {kHandshake, kSilentBeats}, .first = session};
  manner.hello.session = session.session.hex();
  return manner;
}

std::int64_t heard_now() { return Clock::now().time_since_epoch().count(); }

}  // namespace

DaemonSession::DaemonSession(transport::Context& context, const KeyPair& keys, protocol::OpenSession session,
                             const Workers& workers, EventQueue& events)
    : session_(std::move(session)), events_(events), connection_(context, keys, manner(session_)), held_(workers) {}

Result<void> DaemonSession::connect(const protocol::EndpointFile& endpoint) {
  is_requested_ = false;
  const auto address = control::address_of(endpoint, control::Reach::kThisMachine);
  if (!address)
    return failure(ErrorCode::kDaemonUnavailable,
                   "pounced's endpoint file names no handshake endpoint on this machine.");
  connection_.connect(*address, Clock::now());
  return {};
}

void DaemonSession::request() {
  if (is_requested_ || closed_) return;
  is_requested_ = true;
  events_.push(DaemonNeeded{});
}

std::uint32_t DaemonSession::ask(const protocol::Header& question, std::uint32_t last_opening) {
  if (connection_.down()) request();
  if (connection_.open() && connection_.opening() != last_opening) connection_.send(question, Clock::now());
  return connection_.opening();
}

void DaemonSession::send_demand(const std::vector<Request>& requests) {
  connection_.send(protocol::Demand{session_.session, requests}, Clock::now());
}

void DaemonSession::close() {
  closed_ = true;
  connection_.send(protocol::CloseSession{session_.session}, Clock::now());
  // The answer shows that CloseSession was read.
  connection_.send(protocol::Beat{false, heard_now(), 0}, Clock::now());
}

// ---- what pounced says ----------------------------------------------------------------------------------------------

std::optional<task::Event> DaemonSession::take(const protocol::Header& header) {
  using Means = std::optional<task::Event>;
  const auto show = [this](Event event) -> Means {
    events_.push(std::move(event));
    return std::nullopt;
  };
  return std::visit(
      Overloaded{[&](const protocol::Granted& granted) { return on(granted); },
                 [&](const protocol::LeaseStatus& status) { return on(status); },
                 [&](const protocol::WorkerDown& down) { return on(down); },
                 [&](const protocol::LeaseEnded& ended) { return on(ended); },
                 [](const protocol::RequestFailed& failed) -> Means {
                   return task::RequestRefused{failed.request, failed.error};
                 },
                 [&](const protocol::QueueIs& answer) { return show(QueueShown{answer}); },
                 [&](const protocol::ClassesIs& answer) { return show(ClassesShown{answer}); },
                 [&](const protocol::StatusIs& answer) { return show(StatusShown{answer}); },
                 [&](const protocol::DetachedList& answer) { return show(NamesShown{answer}); },
                 [&](const protocol::Notice& notice) { return show(Told{notice.text}); },
                 [](const auto&) -> Means { return std::nullopt; }},  // pounced says nothing else to clients
      header);
}

std::optional<task::Event> DaemonSession::on(const protocol::Granted& granted) {
  const auto key = transport::from_z85(granted.key);
  if (!key) return std::nullopt;
  const task::WorkerRef place{granted.lease, granted.worker};
  leases_.granted(granted.lease, heard_now());
  grants_[place] = Grant{granted.epoch, granted.endpoint, *key};
  return task::WorkerGranted{granted.request, place, granted.epoch, *key};
}

std::optional<task::Event> DaemonSession::on(const protocol::LeaseStatus& status) {
  leases_.update(status, heard_now());
  events_.push(StatusChanged{status.request});
  return task::RequestBound{status.request,
                            status.cause.code == CauseCode::kStartRate || !status.wait.limit.what.empty()};
}

std::optional<task::Event> DaemonSession::on(const protocol::WorkerDown& down) {
  held_.hold(task::WorkerDied{{down.lease, down.worker},
                              down.epoch,
                              down.error,
                              down.ended.started,
                              transport::from_z85(down.ended.key).value_or(PublicKey{})});
  return std::nullopt;
}

std::optional<task::Event> DaemonSession::on(const protocol::LeaseEnded& ended) {
  held_.hold(task::LeaseLost{ended.request, ended.lease, ended.error});
  leases_.forget(ended.lease);
  events_.push(StatusChanged{ended.request});
  if (const Cause& cause = ended.error.cause; cause.code == CauseCode::kOtherJobWaits)
    events_.push(GivenBack{ended.request, cause.number, ended.at_s});
  return std::nullopt;
}

const Grant* DaemonSession::grant_of(const task::WorkerRef& place, Epoch epoch) const {
  const auto grant = grants_.find(place);
  return grant == grants_.end() || grant->second.epoch != epoch ? nullptr : &grant->second;
}

void DaemonSession::forget_grants(const LeaseId& lease) {
  std::erase_if(grants_, [&](const auto& entry) { return entry.first.lease == lease; });
}

void DaemonSession::tell_reach(const task::TellReach& order) {
  const auto status = leases_.of_lease(order.place.lease);
  std::string worker = "the worker";
  if (status && !status->node.empty()) worker += " on " + status->node;
  if (status && status->job != 0) worker += " (job " + std::to_string(status->job) + ")";
  events_.push(Told{worker + (order.reachable ? " can be reached again."
                                              : " is unreachable. Its task may go on there: wait until the network is "
                                                "back, or until the batch system ends the job.")});
}

}  // namespace pounce::client
