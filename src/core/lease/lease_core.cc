// The frame of the lease core: one event in, actions out; what every rule file shares. The rules are in sessions.cc,
// submitting.cc, restart.cc, sweeping.cc, polling.cc, workers.cc, ending.cc, warmth.cc, releasing.cc and timing.cc.
#include "core/lease/lease_core.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/lease/reason.h"

namespace pounce::lease {
namespace {
TimePoint not_before(const WantBook* book) { return book != nullptr ? std::max(book->not_before, book->starts_at) : TimePoint{}; }
}

LeaseCore::LeaseCore(InstanceId instance, Defaults defaults, std::function<LeaseId()> fresh_lease)
    : instance_(instance), defaults_(defaults), fresh_lease_(std::move(fresh_lease)) {}

std::vector<Action> LeaseCore::handle(const Event& event, TimePoint now) {
  now_ = std::max(now_, now);  // a clock that goes back changes nothing
  if (deadline_ < now_) excuse_silence(now_ - deadline_);
  actions_.clear();
  ++counters_.events;
  std::visit([this](const auto& happened) { on(happened); }, event);
  settle();
#ifndef NDEBUG
  check_invariants();
#endif
  return std::exchange(actions_, {});
}

void LeaseCore::on(const TimesChanged& event) { defaults_ = event.times; }

void LeaseCore::on(const TimePassed&) {}  // settle() looks at every deadline after every event

bool LeaseCore::accept(Lease& lease, News news) {
  cell_ = &cell(lease.state, news);
  cell_lease_ = lease.id;
  if (cell_->next != 0) return true;
  lease.story.add(now_, std::string(word(news)) + " ignored: " + std::string(cell_->ignored));
  ++counters_.ignored;
  return false;
}

void LeaseCore::enter(Lease& lease, LeaseState state, const std::string& why) {
  if (state == lease.state) return;
  if (cell_ == nullptr || cell_lease_ != lease.id || !cell_->allows(state)) {
    if (breach_.empty())
      breach_ = "lease " + lease.id.hex() + " went from " + std::string(word(lease.state)) + " to " +
                std::string(word(state)) + " against the table: " + why;
  }
  const bool was_active = lease.active();
  lease.story.add(now_, std::string(word(lease.state)) + " -> " + std::string(word(state)) + ": " + why);
  lease.state = state;
  lease.since = now_;
  changed_ = true;
  if (!(was_active && lease.active())) tell(lease);
}

void LeaseCore::refresh(Lease& lease) {
  if (!lease.active() && !(lease.state == LeaseState::kStarting && lease.ready())) return;
  const WantBook* book = want_of(lease);
  const bool demanded = book != nullptr && book->demanded();
  enter(lease, demanded || lease.running() > 0 ? LeaseState::kBusy : LeaseState::kIdle, demanded ? "tasks wait or run" : "ready");
}

void LeaseCore::tell(const Lease& lease) {
  if (!lease.owner || lease.over()) return;
  TellStatus status{lease.owner->session, lease.owner->want, lease.id, lease.state, reason_of(lease),
                    lease.facts.waiting, {}, lease.facts.node, lease.facts.devices,
                    lease.facts.start_s, lease.facts.end_s};
  if (lease.job) status.job = lease.job->job;
  if (lease.state == LeaseState::kWanted) status.not_before = not_before(want_of(lease));
  act(std::move(status));
}

std::string LeaseCore::reason_of(const Lease& lease) const {
  const WantBook* book = want_of(lease);
  if (unreachable_since_ && lease.state <= LeaseState::kQueued)
    return "Slurm does not answer (" + unreachable_why_ + "); running work goes on";
  switch (lease.state) {
    case LeaseState::kWanted:
      return book != nullptr && !book->wait_reason.empty() ? book->wait_reason : "about to ask Slurm";
    case LeaseState::kSubmitting:
      return lease.submit_under_way ? "asking Slurm for a job" : "looking whether Slurm has the job";
    case LeaseState::kQueued:
      return plain_reason(lease.facts.waiting);
    case LeaseState::kStarting:
      return !lease.workers.empty() ? "the interpreter starts" : "the job starts";
    case LeaseState::kIdle:
      if (lease.facts.grace_s > 0) return "preempted: a job that goes first takes its place";
      if (!warm(lease)) return "ready";
      return blind_ ? "ready, and kept for a short time only: this Slurm shows nobody who else waits" : "ready, and kept until somebody waits for it";
    case LeaseState::kBusy:
      return lease.facts.grace_s > 0 ? "preempted: a job that goes first takes its place" : "ready";
    case LeaseState::kDraining:
    case LeaseState::kEnding:
    case LeaseState::kEnded:
      return lease.end ? lease.end->text : "it ends";
  }
  return {};
}

void LeaseCore::record(const Lease& lease, JournalRecord::Kind kind, const std::string& reason) {
  JournalRecord line;
  line.kind = kind;
  line.lease = lease.id;
  if (kind == JournalRecord::Kind::kIntent) {
    line.resources = lease.resources;
    if (lease.owner) line.session = lease.owner->session, line.want = lease.owner->want;
  }
  if (kind == JournalRecord::Kind::kSubmitted && lease.job) line.job = *lease.job;
  line.reason = reason;
  act(RecordOutcome{std::move(line)});
}

Lease* LeaseCore::find(const LeaseId& id) {
  const auto found = leases_.find(id);
  return found == leases_.end() ? nullptr : &found->second;
}

Lease* LeaseCore::lease_of(const Owner& owner) {
  for (auto& [id, lease] : leases_)
    if (lease.owner == owner) return &lease;
  return nullptr;
}

const WantBook* LeaseCore::want_of(const Lease& lease) const {
  if (!lease.owner) return nullptr;
  const auto session = sessions_.find(lease.owner->session);
  if (session == sessions_.end()) return nullptr;
  const auto want = session->second.wants.find(lease.owner->want);
  return want == session->second.wants.end() ? nullptr : &want->second;
}

WantBook* LeaseCore::want_of(const Lease& lease) {
  return const_cast<WantBook*>(std::as_const(*this).want_of(lease));
}

bool LeaseCore::needed(const Lease& lease) const {
  if (!lease.owner) return false;
  const auto session = sessions_.find(lease.owner->session);
  if (session == sessions_.end()) return false;
  if (session->second.awaited_until) return true;
  const WantBook* book = want_of(lease);
  return book != nullptr && book->demanded();
}

void LeaseCore::ignore(const std::string& what) {
  ++counters_.ignored;
  last_ignored_ = what;
}

std::vector<LeaseView> LeaseCore::leases() const {
  std::vector<LeaseView> views;
  for (const auto& [id, lease] : leases_) {
    if (lease.over()) continue;
    const WantBook* book = want_of(lease);
    views.push_back({id, lease.state, lease.resources, lease.owner, lease.job, lease.facts.node, lease.facts.devices,
                     lease.facts.waiting, lease.facts.start_s, lease.facts.end_s,
                     lease.running(), lease.linked(), reason_of(lease), book != nullptr ? book->want.waiting : 0,
                     lease.release_asked, lease.born, lease.since, lease.state == LeaseState::kWanted ? not_before(book) : TimePoint{},
                     static_cast<std::uint32_t>(std::ranges::count_if(
                         lease.workers, [](const auto& entry) { return entry.second.ready; }))});
  }
  return views;
}

std::vector<StoryLine> LeaseCore::story(const LeaseId& lease) const {
  const auto found = leases_.find(lease);
  if (found == leases_.end()) return {};
  const auto& lines = found->second.story.lines();
  return {lines.begin(), lines.end()};
}

}  // namespace pounce::lease
