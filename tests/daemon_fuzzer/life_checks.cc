// What must be true of a life after each step.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "daemon_fuzzer/life.h"
#include "messages/sentence.h"

namespace pounce::daemon_fuzzer {
namespace {

using namespace std::chrono_literals;
using namespace protocol;

}  // namespace

void Life::check() {
  launcher_->answer();
  learn_leases();
  check_sent();
  if (const auto broken = service_->core().broken_invariant()) complain(*broken);
  check_journal();
  if (detached_used_) check_detached();
}

void Life::learn_leases() {
  const auto leases = service_->core().leases();
  witness_.sees(leases);
  for (const lease::LeaseView& view : leases)
    if (std::ranges::find(pool_.leases, view.lease) == pool_.leases.end())
      pool_.leases.push_back(view.lease), ++outcome_.leases;
}

void Life::check_sent() {
  learn_leases();
  for (const Sent& sent : std::exchange(sent_, {})) {
    outcome_.granted += sent.frame.find("\"granted\"") != std::string::npos;
    if (const std::string trouble = witness_.trouble_with(actors_[sent.to], sent.frame, actors_); !trouble.empty())
      complain(trouble);
  }
}

std::string Life::picture() const {
  std::string text;
  for (const lease::LeaseView& view : service_->core().leases())
    text += view.lease.hex() + " " + std::string(lease::word(view.state)) + " " +
            (view.owner ? view.owner->session.hex() + " " + std::to_string(view.owner->request.value) : "nobody") +
            " " + (view.job ? std::to_string(view.job->job.value) : "") + "\n";
  return text + std::to_string(service_->core().session_count()) + " sessions\n";
}

std::string Life::histories() const {
  std::string text;
  for (const lease::LeaseView& view : service_->core().leases())
    for (const lease::HistoryLine& line : service_->core().history(view.lease))
      text += "\n" + std::to_string((Clock::now() - line.when) / 1s) + " s ago " + std::string(lease::word(line.to)) +
              ": " + messages::sentence(line.why);
  return text;
}

void Life::check_journal() {
  const std::string path = setup_.folders.journal();
  std::error_code absent;
  const auto size = std::filesystem::file_size(path, absent);
  if (absent || size == journal_size_) return;
  if (planted_ == PlantedBug::kJournalTorn && size > journal_size_) std::ofstream(path, std::ios::app) << "torn";
  if (planted_ == PlantedBug::kJournalForgets && size > journal_size_)
    std::filesystem::resize_file(path, journal_size_);
  journal_size_ = size;
  const daemon::JournalContent content = daemon::read_journal(path);
  if (content.damaged_bytes > 0) complain("the journal cannot be read to its end");
  if (disk_failed_) return;
  std::map<LeaseId, std::optional<SlurmJobId>> written;
  for (const lease::JournalRecord& record : daemon::open_records(content.records)) {
    auto& job = written[record.lease];
    if (record.kind == lease::JournalRecord::Kind::kSubmitted) job = record.job.job;
  }
  for (const lease::LeaseView& view : service_->core().leases()) {
    const auto found = written.find(view.lease);
    if (view.state >= lease::LeaseState::kQueued && found == written.end())
      complain("lease " + view.lease.hex() + " is not in the journal");
    if (found == written.end()) continue;
    if (found->second && view.job && *found->second != view.job->job)
      complain("lease " + view.lease.hex() + " has another job in the journal");
    written.erase(found);
  }
  if (!written.empty()) complain("the journal holds lease " + written.begin()->first.hex() + ", which is not there");
}

// A task that has not ended is looked after.
void Life::check_detached() {
  if (disk_failed_) return;
  for (const DetachedRecord& record : daemon::DetachedFolder(setup_.folders.results()).records())
    if (record.row.state != "done" && !service_->core().has_session(daemon::DetachedTasks::session_of(record.row.task)))
      complain("nobody looks after the detached task " + record.row.name);
}

// What is kept of a lease goes with it, at the latest when the next worker comes.
void Life::check_interpreters(const Header& heard) {
  if (!std::holds_alternative<InterpreterUp>(heard)) return;
  const auto leases = service_->core().leases();
  for (const auto& entry : service_->state().interpreters)
    if (std::ranges::find(leases, entry.first.first, &lease::LeaseView::lease) == leases.end())
      return complain("an interpreter is remembered of lease " + entry.first.first.hex() + ", which is not there");
}

}  // namespace pounce::daemon_fuzzer
