// How long an idle lease is kept for the next call, and which leases go earlier because another job waits: one whose
// variables are saved goes almost at once, one that would lose some after its usual time, and a busy one when its loop
// of pounce.steps can be left. Where Slurm hides the jobs of others (blind) leases are kept a short time instead.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/lease/rules.h"

namespace pounce::lease {

// ---- idle leases --------------------------------------------------------------------------------------------------

bool unneeded(const Core& core, const Lease& lease) {
  return lease.state == LeaseState::kIdle || (lease.state == LeaseState::kStarting && !needed(core, lease));
}

Duration kept(const Core& core) {
  const Defaults& times = core.times;
  return times.idle_release + (core.look.blind ? std::min(times.keep_warm, times.keep_warm_blind) : times.keep_warm);
}

namespace {

// How long it is idle before it goes to a job that waits. A lease whose workers never spoke of their variables, or that
// starts for a request that needs it no more, has the usual time.
Duration yields_after(const Core& core, const Lease& lease) {
  const bool at_once = lease.state == LeaseState::kIdle && lease.saved() && !core.look.blind;
  return at_once ? std::min(core.times.yield_after, core.times.idle_release) : core.times.idle_release;
}

}  // namespace

bool reusable(const Core& core, const Lease& lease) {
  return unneeded(core, lease) && !lease.end && lease.job && core.now >= lease.last_busy + yields_after(core, lease);
}

namespace {

std::vector<Lease*> reusable_leases(Core& core) {  // the longest idle first
  std::vector<Lease*> all;
  for (auto& [id, lease] : core.leases)
    if (reusable(core, lease)) all.push_back(&lease);
  std::ranges::sort(all, {}, [](const Lease* lease) { return std::pair(lease->last_busy, lease->id); });
  return all;
}

// ---- loops of pounce.steps ----------------------------------------------------------------------------------------

// A busy lease leaves such a loop between two steps, has its variables saved, and its task goes on elsewhere. It is
// told only when another job has waited for step_yield_after, and never before the loop has run for step_min_run here,
// so that no task moves all the time. The worker, not this core, gives the lease up: its loop may end first.
bool may_be_left(const Core& core, const Lease& lease) {
  return lease.stepping() && lease.stepping_since && lease.job && !lease.yield_told &&
         core.now >= *lease.stepping_since + core.times.step_min_run;
}

std::vector<Lease*> stepping_leases(Core& core) {  // the longest in its loop first
  std::vector<Lease*> all;
  for (auto& [id, lease] : core.leases)
    if (may_be_left(core, lease)) all.push_back(&lease);
  std::ranges::sort(all, {}, [](const Lease* lease) { return std::pair(*lease->stepping_since, lease->id); });
  return all;
}

// Often enough that no job waits for twice that time.
Duration look_every(const Core& core) {
  const Defaults& times = core.times;
  return std::clamp<Duration>(times.step_yield_after, times.warm_poll, std::max(times.warm_poll, times.poll_max));
}

void tell_to_yield(Core& core, Lease& lease) {
  lease.yield_told = true;
  lease.history.add(core.now, CauseCode::kToBeYielded);
  for (const auto& [index, worker] : lease.workers)
    if (worker.linked) core.act(YieldSteps{lease.id, worker.link});
}

// Jobs wait for what these leases hold, and for no others.
void note_wanted_loops(Core& core, const std::vector<Lease*>& wanted) {
  for (Lease* lease : stepping_leases(core)) {
    if (std::ranges::find(wanted, lease) == wanted.end()) {
      lease->wanted_since.reset();
      continue;
    }
    if (!lease->wanted_since) lease->wanted_since = core.now;
    if (core.now >= *lease->wanted_since + core.times.step_yield_after) tell_to_yield(core, *lease);
  }
}

// ---- looks at the queue -------------------------------------------------------------------------------------------

// Only while there is a lease that may go (a loop that can be left counts, and is looked after less often), never more
// than once an interval however many there are, and less often where Slurm finds it a burden.
constexpr int kBlindAfter = 3;  // failed looks in a row
constexpr int kSeldom = 50;     // a look costs slurmctld at most what it takes: no more than 2 % of its time

// Also one that was told to leave its loop: its step may take a while.
bool leaves(const Lease& lease) {
  const bool goes = lease.state == LeaseState::kDraining || lease.state == LeaseState::kEnding ||
                    (lease.stepping() && lease.yield_told);
  return goes && lease.job;
}

std::vector<Lease*> wanted_of(Core& core, const QueueSnapshot& look, const std::vector<Lease*>& may_go) {
  std::vector<SlurmJobId> warm, leaving;
  for (const Lease* lease : may_go) warm.push_back(lease->job->job);
  for (const auto& [id, lease] : core.leases)
    if (leaves(lease)) leaving.push_back(lease.job->job);
  std::vector<Lease*> going;
  for (const SlurmJobId job : to_reclaim(look, warm, leaving))
    std::ranges::copy_if(may_go, std::back_inserter(going), [job](const Lease* one) { return one->job->job == job; });
  return going;
}

void plan_next_look(Core& core, const QueueSnapshotTaken& event) {
  const Defaults& times = core.times;
  QueueLook& look = core.look;
  const Duration least = times.warm_poll, most = std::max(2 * times.warm_poll, times.poll_max);
  const Duration took = core.now - look.begun;
  look.wait = event.look ? std::clamp<Duration>(took * kSeldom, least, most)
                         : std::clamp<Duration>(look.wait * 2, least * 2, most);
  look.failed = event.look ? 0 : look.failed + 1;
  look.blind = event.look ? event.look->hidden : look.blind || look.failed >= kBlindAfter;
  if (look.blind) look.wait = std::max<Duration>(look.wait, times.keep_warm_blind);
  look.at = look.begun + look.wait;
  if (look.wait > least) look.at = std::max(look.at, core.now + least);  // never at once after one that took as long
}

}  // namespace

void settle_steps(Core& core) {
  for (auto& [id, lease] : core.leases) {
    if (!lease.stepping()) {
      lease.stepping_since.reset();
      lease.wanted_since.reset();
      lease.yield_told = false;
      continue;
    }
    if (!lease.stepping_since) lease.stepping_since = core.now;
    core.due(*lease.stepping_since + core.times.step_min_run);
  }
}

void settle_look(Core& core) {
  for (const auto& [id, lease] : core.leases)
    if (unneeded(core, lease)) core.due(lease.last_busy + yields_after(core, lease));
  if (core.look.under_way || core.slurm.lost) return;
  auto may_go = reusable_leases(core);
  const auto in_steps = stepping_leases(core);
  if (may_go.empty() && in_steps.empty()) return;
  const TimePoint for_steps = std::max(core.look.at, core.look.begun + look_every(core));
  if (!core.due(may_go.empty() ? for_steps : core.look.at)) return;
  may_go.insert(may_go.end(), in_steps.begin(), in_steps.end());
  TakeQueueSnapshot order;
  for (const Lease* lease : may_go) order.jobs.push_back(*lease->job);
  for (const auto& [id, lease] : core.leases)
    if (leaves(lease)) order.jobs.push_back(*lease.job);
  core.look.under_way = true;
  core.look.begun = core.now;
  ++core.counters.snapshots;
  core.act(std::move(order));
}

std::vector<Lease*> wanted_by_others(Core& core, const QueueSnapshotTaken& event) {
  if (!core.look.under_way) {
    core.ignore();
    return {};
  }
  core.look.under_way = false;
  plan_next_look(core, event);
  if (!event.look || core.look.blind) return {};
  std::vector<Lease*> may_go = reusable_leases(core);
  std::vector<Lease*> going = wanted_of(core, *event.look, may_go);
  // A loop that goes on with another worker soon waits for that worker, and would make way for itself.
  QueueSnapshot others = *event.look;
  std::erase_if(others.waiting, [](const RoomAsked& wish) { return wish.own; });
  std::ranges::copy(stepping_leases(core), std::back_inserter(may_go));
  note_wanted_loops(core, wanted_of(core, others, may_go));
  return going;
}

// ---- which of them would help the jobs that wait ------------------------------------------------------------------

// Pure and total: a request that is not understood helps no job or takes one lease too many, and never breaks anything.

namespace {

bool lists(const std::vector<std::string>& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

// What a node lacks for a waiting job. GPUs of no named type may be of any.
struct Short {
  std::map<std::string, std::uint32_t> gpus;
  std::uint32_t any_gpu = 0;
  bool cpus = false, memory = false;

  bool nothing() const { return gpus.empty() && any_gpu == 0 && !cpus && !memory; }
  bool eased_by(const Room& room) const {
    for (const auto& [type, count] : room.gpus)
      if (count > 0 && (any_gpu > 0 || gpus.contains(type))) return true;
    return (cpus && room.cpus > 0) || (memory && room.memory_mib > 0);
  }
};

Short shortage(const Room& have, const Room& wish) {
  Short missing{{}, 0, have.cpus < wish.cpus, have.memory_mib < wish.memory_mib};
  std::uint32_t all = 0, wanted = 0;
  for (const auto& [type, count] : have.gpus) all += count;
  for (const auto& [type, count] : wish.gpus) {
    wanted += count;
    const auto there = have.gpus.find(type);
    const std::uint32_t typed = there == have.gpus.end() ? 0 : there->second;
    if (!type.empty() && typed < count) missing.gpus[type] = count - typed;
  }
  if (missing.gpus.empty() && all < wanted) missing.any_gpu = wanted - all;
  return missing;
}

void add(Room& sum, const Room& more) {
  for (const auto& [type, count] : more.gpus) sum.gpus[type] += count;
  sum.cpus += more.cpus;
  sum.memory_mib += more.memory_mib;
}

void take(Room& sum, const Room& gone) {
  const auto less = [](auto& have, auto by) { have -= std::min(have, by); };
  for (const auto& [type, count] : gone.gpus) {
    std::uint32_t left = count;
    for (auto& [have_type, have] : sum.gpus) {
      if (!type.empty() && have_type != type) continue;
      const std::uint32_t part = std::min(have, left);
      have -= part, left -= part;
    }
  }
  less(sum.cpus, gone.cpus);
  less(sum.memory_mib, gone.memory_mib);
}

// What is, or will be, free on each node, and what more could be.
class Reclaim {
 public:
  Reclaim(const QueueSnapshot& look, const std::vector<SlurmJobId>& warm, const std::vector<SlurmJobId>& leaving)
      : look_(look), warm_(warm) {
    for (const NodeRoom& node : look.nodes) free_[node.name] = node.free;
    for (const RoomHeld& held : look.held)
      if (std::ranges::find(leaving, held.job.job) != leaving.end()) add(free_[held.node], held.room);
  }

  void serve(const RoomAsked& wish) {
    std::vector<std::pair<const NodeRoom*, std::vector<SlurmJobId>>> ways;
    for (const NodeRoom& node : look_.nodes) {
      if (!may_run_on(wish, node)) continue;
      if (auto going = fewest(node, wish.each)) ways.emplace_back(&node, std::move(*going));
    }
    std::ranges::sort(ways, {},
                      [](const auto& way) { return std::pair(way.second.size(), std::string_view(way.first->name)); });
    if (ways.size() > wish.nodes) ways.resize(wish.nodes);
    for (const auto& [node, going] : ways) {
      for (const SlurmJobId job : going) give(job);
      take(free_[node->name], wish.each);
    }
  }

  std::vector<SlurmJobId> given_back() const { return given_; }

 private:
  // The jobs that have to go for it on that node; nullopt: all of them together would not do.
  std::optional<std::vector<SlurmJobId>> fewest(const NodeRoom& node, const Room& wish) const {
    std::vector<SlurmJobId> going;
    for (const SlurmJobId job : warm_) {
      const Short missing = shortage(with(node, going), wish);
      if (missing.nothing()) break;
      if (!given(job) && missing.eased_by(held_on(node, job))) going.push_back(job);
    }
    if (!shortage(with(node, going), wish).nothing()) return std::nullopt;
    for (std::size_t i = 0; i < going.size();) {  // a job that a later one makes superfluous stays
      std::vector<SlurmJobId> others = going;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      if (shortage(with(node, others), wish).nothing())
        going = std::move(others);
      else
        ++i;
    }
    return going;
  }

  Room held_on(const NodeRoom& node, SlurmJobId job) const {
    Room sum;
    for (const RoomHeld& held : look_.held)
      if (held.job.job == job && held.node == node.name) add(sum, held.room);
    return sum;
  }

  Room with(const NodeRoom& node, const std::vector<SlurmJobId>& going) const {
    Room sum = free_.at(node.name);
    for (const SlurmJobId job : going) add(sum, held_on(node, job));
    return sum;
  }

  bool given(SlurmJobId job) const { return std::ranges::find(given_, job) != given_.end(); }

  void give(SlurmJobId job) {
    if (given(job)) return;
    given_.push_back(job);
    for (const RoomHeld& held : look_.held)
      if (held.job.job == job) add(free_[held.node], held.room);
  }

  const QueueSnapshot& look_;
  const std::vector<SlurmJobId>& warm_;
  std::map<std::string, Room> free_;
  std::vector<SlurmJobId> given_;
};

}  // namespace

bool has_features(std::string_view expression, const std::vector<std::string>& features) {
  bool whole = true;  // all of this alternative so far
  std::string word;
  for (std::size_t i = 0; i <= expression.size(); ++i) {
    const char c = i < expression.size() ? expression[i] : '|';
    if (c == '&' || c == '|' || c == ',') {
      if (!word.empty()) whole = whole && lists(features, word.substr(0, word.find('*')));
      word.clear();
      if (c == '|' && whole) return true;
      if (c == '|') whole = true;
    } else if (std::string_view("[]() ").find(c) == std::string_view::npos) {
      word += c;
    }
  }
  return false;
}

bool may_run_on(const RoomAsked& wish, const NodeRoom& node) {
  const auto in_partition = [&](const std::string& name) { return lists(node.partitions, name); };
  if (std::ranges::none_of(wish.partitions, in_partition)) return false;
  if (!wish.only_nodes.empty() && !lists(wish.only_nodes, node.name)) return false;
  return !lists(wish.not_nodes, node.name) && has_features(wish.features, node.features);
}

std::vector<SlurmJobId> to_reclaim(const QueueSnapshot& look, const std::vector<SlurmJobId>& warm,
                                   const std::vector<SlurmJobId>& leaving) {
  Reclaim reclaim(look, warm, leaving);
  for (const RoomAsked& wish : look.waiting) reclaim.serve(wish);
  return reclaim.given_back();
}

}  // namespace pounce::lease
