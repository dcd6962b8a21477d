#include "core/forecast/cluster.h"

#include <algorithm>
#include <set>
#include <utility>

namespace pounce::forecast {
namespace {

constexpr std::uint32_t kMostOfArray = 200;

using Places = std::set<std::uint32_t>;

Places places_of(const Cluster& cluster, const std::vector<std::string>& partitions) {
  Places places;
  for (const std::string& name : partitions)
    if (const auto found = cluster.partitions.find(name); found != cluster.partitions.end())
      for (const std::uint32_t node : found->second)
        if (node < cluster.nodes.size() && cluster.nodes[node].takes_work) places.insert(node);
  return places;
}

bool meets(const Places& these, const auto& those) {
  return std::ranges::any_of(those, [&](std::uint32_t node) { return these.contains(node); });
}

Things things_of(const Cluster& cluster, const Places& places) {
  Things all;
  for (const std::uint32_t node : places)
    for (const auto& [thing, count] : cluster.nodes[node].things) all[thing] += count;
  return all;
}

bool goes_first(const AnyJob& other, const AnyJob& mine) {
  return std::pair(mine.priority, other.id) < std::pair(other.priority, mine.id);
}

// How much of the limit a job takes; 0: it is not counted.
std::uint64_t of_limit(const Bound& bound, const AnyJob& job, const AnyJob& mine) {
  const bool counted = bound.counts == Counts::kClass || (bound.counts == Counts::kUser && job.user == mine.user) ||
                       (bound.counts == Counts::kAccount && job.account == mine.account);
  if (!counted || (bound.of_class && job.class_name != mine.class_name)) return 0;
  const std::string& what = bound.use.what;
  if (what == "job") return 1;
  const std::string thing = what.starts_with("gres/") ? what.substr(5) : what;
  const auto found = job.things.find(thing);
  return found == job.things.end() ? 0 : found->second;
}

class Cut {
 public:
  Cut(const Cluster& cluster, const AnyJob& mine, const Bound& bound)
      : mine_(mine), bound_(bound), places_(places_of(cluster, mine.partitions)), room_(things_of(cluster, places_)) {
    for (const AnyJob& job : cluster.jobs)
      if (job.runs && meets(places_, job.nodes)) running_.push_back(&job);
    std::map<std::vector<std::string>, bool> here;  // thousands of jobs name a few lists of partitions
    const auto waits_here = [&](const AnyJob& job) {
      const auto [known, is_new] = here.try_emplace(job.partitions);
      if (is_new) known->second = meets(places_, places_of(cluster, job.partitions));
      return known->second;
    };
    for (const AnyJob& job : cluster.jobs)
      if (!job.runs && job.id != mine.id && job.priority > 0 && competes(job) && goes_first(job, mine) &&
          waits_here(job))
        waiting_.push_back(&job);
    std::ranges::sort(waiting_, [](const AnyJob* one, const AnyJob* other) { return goes_first(*one, *other); });
    forget_what_is_not_counted();
  }

  Line line() const {
    Line line;
    for (const auto& [thing, count] : room_) line.room.push_back(count), line.own.push_back(false);
    if (bound_.counts != Counts::kNone) line.room.push_back(room_of_limit()), line.own.push_back(true);
    for (const AnyJob* job : running_) line.running.push_back(as_played(*job));
    for (const AnyJob* job : waiting_) {
      if (line.waiting.size() > kMostPlayed) break;
      const Job played = as_played(*job);
      if (!can_ever(played, line)) continue;  // it waits for other nodes of its partitions and delays no job here
      for (std::uint32_t i = 0; i < std::min(job->count, kMostOfArray) && line.waiting.size() <= kMostPlayed; ++i)
        line.waiting.push_back(played);
    }
    line.waiting.push_back(as_played(mine_));
    return line;
  }

 private:
  // The user's other jobs wait for the same limit.
  bool competes(const AnyJob& job) const { return job.competes || of_limit(bound_, job, mine_) > 0; }

  static bool can_ever(const Job& job, const Line& line) {
    for (std::size_t i = 0; i < line.room.size(); ++i)
      if (!line.own[i] && job.needs[i] > line.room[i]) return false;
    return true;
  }

  // Drops things of which more is in use than there is: Slurm does not count them here, or shares them.
  void forget_what_is_not_counted() {
    Things used;
    for (const AnyJob* job : running_)
      for (const auto& [thing, count] : job->things) used[thing] += count;
    std::erase_if(room_, [&](const auto& entry) { return used[entry.first] > entry.second; });
  }

  // Use that the limit counts and that is not seen here never ends.
  std::uint64_t room_of_limit() const {
    std::uint64_t seen = 0;
    for (const AnyJob* job : running_) seen += of_limit(bound_, *job, mine_);
    const std::uint64_t unseen = bound_.use.used - std::min(bound_.use.used, seen);
    return bound_.use.most - std::min(bound_.use.most, unseen);
  }

  Job as_played(const AnyJob& job) const {
    Job played{job.user, job.class_name, {}, job.limit_s, job.ran_s};
    for (const auto& [thing, count] : room_) {
      const auto found = job.things.find(thing);
      played.needs.push_back(found == job.things.end() ? 0 : found->second);
    }
    if (bound_.counts != Counts::kNone) played.needs.push_back(of_limit(bound_, job, mine_));
    return played;
  }

  const AnyJob& mine_;
  const Bound& bound_;
  const Places places_;
  Things room_;
  std::vector<const AnyJob*> running_, waiting_;
};

}  // namespace

Line line_of(const Cluster& cluster, const AnyJob& mine, const Bound& bound) {
  return Cut(cluster, mine, bound).line();
}

Things free_of(const Cluster& cluster, const std::vector<std::string>& partitions) {
  const Places places = places_of(cluster, partitions);
  Things free = things_of(cluster, places);
  for (const AnyJob& job : cluster.jobs) {
    if (!job.runs || !meets(places, job.nodes)) continue;
    for (const auto& [thing, count] : job.things)
      if (const auto found = free.find(thing); found != free.end()) found->second -= std::min(found->second, count);
  }
  return free;
}

}  // namespace pounce::forecast
