#include "core/forecast/replay.h"

#include <limits>
#include <queue>
#include <random>

namespace pounce::forecast {
namespace {

// Most people ask for far more time than they need.
const std::vector<double> kUnknown = {0.02, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.0};

double share_of(const Run& run) {
  return std::clamp(static_cast<double>(run.ran_s) / static_cast<double>(run.limit_s), 0.0, 1.0);
}

bool is_of(const Run& run, const Kind& kind) {
  return (kind.user.empty() || run.user == kind.user) &&
         (kind.class_name.empty() || run.class_name == kind.class_name) &&
         (kind.limit_s == 0 || run.limit_s == kind.limit_s);
}

}  // namespace

bool Runs::add(const Run& run) {
  if (run.limit_s <= 0 || run.ran_s < 0 || !known_.emplace(run.job, run.submit_s).second) return false;
  all_.push_back(run);
  if (all_.size() > kKept) {
    known_.erase({all_.front().job, all_.front().submit_s});
    all_.pop_front();
  }
  shares_.clear();
  return true;
}

std::vector<double> Runs::newest(const Kind& kind) const {
  std::vector<double> shares;
  for (auto run = all_.rbegin(); run != all_.rend() && shares.size() < kNewest; ++run)
    if (is_of(*run, kind)) shares.push_back(share_of(*run));
  std::ranges::sort(shares);
  return shares;
}

const std::vector<double>& Runs::shares(const Kind& kind) const {
  for (const Kind& wider : {kind, Kind{kind.user, kind.class_name}, Kind{"", kind.class_name, kind.limit_s},
                            Kind{"", kind.class_name}, Kind{}}) {
    const auto found = shares_.find(wider);
    const auto& shares = found != shares_.end() ? found->second : shares_.emplace(wider, newest(wider)).first->second;
    if (shares.size() >= kEnough) return shares;
  }
  return kUnknown;
}

std::size_t Runs::seen(const Kind& kind) const {
  const auto& shares = this->shares(kind);
  return &shares == &kUnknown ? 0 : shares.size();
}

namespace {

constexpr std::size_t kDepth = 50;  // how many waiting jobs Slurm tries in the gaps of the first
constexpr double kNever = std::numeric_limits<double>::infinity();

Kind kind_of(const Job& job) { return {job.user, job.class_name, static_cast<std::int64_t>(job.limit_s)}; }

class Game {
 public:
  Game(const Line& line, const Runs& runs, std::mt19937_64& luck)
      : line_(line), luck_(luck), started_(line.waiting.size()) {
    for (const auto* jobs : {&line.running, &line.waiting})
      for (const Job& job : *jobs) shares_.push_back(&runs.shares(kind_of(job)));
    for (const Job& job : line.running) run_at_first_.add(latest_end(job), &job.needs);
  }

  // Returns the time until the last waiting job starts.
  double play() {
    begin();
    // Slurm has not looked yet at a job that fits now, or it does not fit for a reason that is not known here.
    if (uniform() < 0.5 && start_what_fits()) return 0;
    while (!ends_.empty()) {
      now_ = ends_.top().at;
      for (; !ends_.empty() && ends_.top().at <= now_; ends_.pop()) give_back(ends_.top());
      if (start_what_fits()) return now_;
    }
    return kNever;
  }

 private:
  struct End {
    double at = 0, latest = 0;  // latest: what Slurm counts with
    const Job* job = nullptr;
    bool operator>(const End& other) const { return at > other.at; }
  };

  static double latest_end(const Job& running) { return std::max(running.limit_s - running.ran_s, 0.0); }

  void begin() {
    now_ = 0;
    free_ = line_.room;
    std::fill(started_.begin(), started_.end(), false);
    first_ = 0;
    ends_ = {};
    latest_ = run_at_first_;
    for (std::size_t i = 0; i < line_.running.size(); ++i) {
      const Job& job = line_.running[i];
      take(job);
      ends_.push({lasts(job, *shares_[i]) - job.ran_s, latest_end(job), &job});
    }
  }

  double uniform() { return static_cast<double>(luck_() >> 11) * 0x1.0p-53; }

  // How long it runs in all: as long as one of those that ran at least as long as it has already. Where none did, up
  // to twice as long: its limit says little, since most people request far more than they need.
  double lasts(const Job& job, const std::vector<double>& shares) {
    const auto from = std::ranges::upper_bound(shares, job.limit_s > 0 ? job.ran_s / job.limit_s : 1.0);
    const auto left = static_cast<std::size_t>(shares.end() - from);
    if (left == 0) return job.ran_s + uniform() * std::clamp(job.limit_s - job.ran_s, 1.0, std::max(job.ran_s, 1.0));
    const double place = uniform() * static_cast<double>(left);
    const double share = from[static_cast<std::ptrdiff_t>(std::min(static_cast<std::size_t>(place), left - 1))];
    return std::max(share * job.limit_s, job.ran_s);
  }

  void take(const Job& job) {
    for (std::size_t i = 0; i < free_.size(); ++i) free_[i] -= std::min(free_[i], job.needs[i]);
  }
  void give_back(const End& end) {
    latest_.remove(end.latest, &end.job->needs);
    for (std::size_t i = 0; i < free_.size(); ++i) free_[i] = std::min(free_[i] + end.job->needs[i], line_.room[i]);
  }

  enum class Fit { kYes, kNo, kOwnLimit };
  Fit fit(const Job& job, const std::vector<std::uint64_t>& free) const {
    Fit fit = Fit::kYes;
    for (std::size_t i = 0; i < free.size(); ++i) {
      if (job.needs[i] <= free[i]) continue;
      if (line_.own[i]) return Fit::kOwnLimit;
      fit = Fit::kNo;
    }
    return fit;
  }

  // Reserves a place for the first job that does not fit, at the time when it fits at the latest. Others may start
  // before it if they are sure to end by then.
  bool start_what_fits() {
    while (first_ < started_.size() && started_[first_]) ++first_;
    double kept_at = kNever;
    std::size_t tried = 0;
    for (std::size_t i = first_; i < line_.waiting.size() && tried < kDepth; ++i) {
      if (started_[i]) continue;
      ++tried;
      const Job& job = line_.waiting[i];
      const Fit here = fit(job, free_);
      if (here == Fit::kNo && kept_at == kNever) kept_at = fits_at_latest(job);
      if (here != Fit::kYes || now_ + job.limit_s > kept_at) continue;
      started_[i] = true;
      if (i + 1 == line_.waiting.size()) return true;
      take(job);
      ends_.push({now_ + lasts(job, *shares_[line_.running.size() + i]), now_ + job.limit_s, &job});
      latest_.add(now_ + job.limit_s, &job.needs);
    }
    return false;
  }

  double fits_at_latest(const Job& job) const {
    const auto fits = [&](const Amounts& free) { return fit(job, free) == Fit::kYes; };
    return latest_.first(free_, fits).value_or(kNever);
  }

  const Line& line_;
  std::mt19937_64& luck_;
  std::vector<const std::vector<double>*> shares_;  // of those that run, then of those that wait
  double now_ = 0;
  std::vector<std::uint64_t> free_;
  std::vector<bool> started_;
  std::size_t first_ = 0;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  LatestEnds<> run_at_first_, latest_;  // what runs when a game begins, and now
};

}  // namespace

std::optional<Span> replay(const Line& line, const Runs& runs, std::uint64_t seed) {
  if (line.waiting.empty() || line.running.size() + line.waiting.size() > kMostPlayed) return std::nullopt;
  std::mt19937_64 luck(seed);
  Game game(line, runs, luck);
  const std::size_t jobs = line.running.size() + line.waiting.size();
  std::vector<double> starts(std::clamp<std::size_t>(20'000 / jobs, 40, 200));
  std::ranges::generate(starts, [&] { return game.play(); });
  std::ranges::sort(starts);
  // Reality is less kind than the game, which knows of no later jobs and learns from few: nine tenths of the games
  // stand for four fifths of the real starts.
  const std::size_t edge = starts.size() / 20;
  const Span span{starts[edge], starts[starts.size() / 2], starts[starts.size() - 1 - edge]};
  if (span.high_s == kNever) return std::nullopt;
  return span;
}

}  // namespace pounce::forecast
