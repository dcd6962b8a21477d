// pouncectl accounting: what Slurm's accounting says, for pounce's own Python (python/pounce/insight), which reads the
// past with it. Questions come as lines of JSON on standard input; answers go as lines of JSON to standard output.
// Without slurmdbd it answers from this user's own records.

#include "pouncectl/accounting.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file_io.h"
#include "model/json.h"
#include "model/status_document.h"
#include "pouncectl/commands.h"
#include "pouncectl/queries.h"

namespace pounce::ctl {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
constexpr std::size_t kFileBytes = 64 << 20;  // per file of leases; pounced keeps them far smaller

std::string user_name() {
  const passwd* entry = ::getpwuid(::geteuid());
  return entry != nullptr ? entry->pw_name : std::to_string(::geteuid());
}

// The records of all of this user's daemons of that cluster: <base>/<cluster>/<instance>/usage, and
// <base>/<cluster>/usage for daemons whose folders were removed.
std::vector<fs::path> records(const std::string& cluster) {
  std::vector<fs::path> files;
  const json where = json::parse(output_of({sibling("pounced"), "where"}), nullptr, false);
  if (!where.is_object()) return files;
  const fs::path own = where.value("state_folder", "");
  const fs::path base = own.empty() ? fs::path(where.value("state_base", "")) / cluster : own.parent_path();
  std::error_code failed;
  const auto add = [&](const fs::path& folder) {
    for (const char* name : {"usage.1", "usage"})  // oldest first
      if (fs::is_regular_file(folder / name, failed)) files.push_back(folder / name);
  };
  add(base);
  for (const auto& instance : fs::directory_iterator(base, failed)) add(instance.path());
  return files;
}

}  // namespace

std::optional<AccountedJob> job_of(const std::string& line, const std::string& user) {
  const auto one = model::parse<model::EndedLease>(line);
  if (!one) return std::nullopt;
  const Resources& resources = one->resources;
  const auto& figures = one->used.figures;
  const auto seconds = [](std::int64_t ms) { return std::lround(static_cast<double>(ms) / 1000); };
  const std::int64_t held = seconds(figures.busy_ms + figures.idle_ms);
  if (held <= 0) return std::nullopt;
  const std::uint32_t workers = std::max(resources.workers, 1u);
  AccountedJob job;
  job.job = one->job, job.lease = one->lease, job.nodes = one->node;
  job.user = user, job.class_name = resources.class_name;
  job.mode = figures.held ? kReservation : kOffload;
  job.end_s = one->end_s;
  job.submit_s = job.eligible_s = job.start_s = job.end_s - held;
  job.gpus = resources.gpus * workers, job.cpus = std::max(resources.cpus, 1u) * workers;
  job.busy_s = std::min<std::int64_t>(seconds(figures.busy_ms), held), job.idle_s = held - job.busy_s;
  return job;
}

namespace {

void say(const json& document) { std::cout << model::dump(document) << '\n'; }

void say_jobs(const std::vector<AccountedJob>& jobs) {
  for (const AccountedJob& job : jobs) say({{"job", model::to_json(job)}});
}

Result<void> say_own_jobs(const std::string& cluster, const slurm::AskJobs& question) {
  const std::string user = user_name();
  for (const fs::path& path : records(cluster)) {
    std::istringstream file(read_end(path, kFileBytes));
    for (std::string line; std::getline(file, line);)
      if (const auto job = job_of(line, user); job && job->start_s < question.to_s && job->end_s >= question.from_s)
        say({{"job", model::to_json(*job)}});
  }
  return {};
}

class Accounting {
 public:
  Result<void> answer(const json& question);

 private:
  Result<void> say_all_jobs(slurm::AskJobs question);

  SlurmConversation slurm_{true};
  std::optional<AccountingFacts> facts_;
};

Result<void> Accounting::say_all_jobs(slurm::AskJobs question) {
  while (true) {
    const auto page = slurm_.ask(question);
    if (!page) return failure(page.error());
    say_jobs(page->jobs);
    if (!page->more) return {};
    question.after = page->last;
  }
}

Result<void> Accounting::answer(const json& question) {
  if (!facts_) {
    const auto facts = slurm_.ask(slurm::AskAccounting{});
    if (!facts) return failure(facts.error());
    facts_ = *facts;
  }
  const std::string what = question.value("ask", "");
  if (what == "facts") {
    say({{"facts", model::to_json(*facts_)}});
    return {};
  }
  if (what == "jobs") {
    const auto jobs = model::from_json<slurm::AskJobs>(question);
    return facts_->has_database ? say_all_jobs(jobs) : say_own_jobs(facts_->cluster, jobs);
  }
  if (what != "node_events") return failure(ErrorCode::kBadRequest, "there is no such question: " + what);
  if (!facts_->has_database) return {};
  const auto events = slurm_.ask(model::from_json<slurm::AskNodeEvents>(question));
  if (!events) return failure(events.error());
  for (const NodeEvent& event : *events) say({{"event", model::to_json(event)}});
  return {};
}

}  // namespace

int accounting() {
  Accounting accounting;
  for (std::string line; std::getline(std::cin, line);) {
    Result<void> answered;
    try {
      answered = accounting.answer(json::parse(line));
    } catch (const json::exception& e) {
      answered = failure(ErrorCode::kBadRequest, std::string("no question: ") + e.what());
    }
    say(answered ? json{{"end", true}} : json{{"error", model::to_json(answered.error())}});
    std::cout.flush();
    if (!std::cout) return kFailed;
  }
  return kOk;
}

}  // namespace pounce::ctl
