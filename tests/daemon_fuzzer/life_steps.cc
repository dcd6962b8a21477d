// The steps of a life: what peers, the batch system, the disk and time do next, and how it ends.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "daemon_fuzzer/life.h"
#include "daemon_fuzzer/speech.h"
#include "protocol/codec.h"
#include "protocol/message_limits.h"

namespace pounce::daemon_fuzzer {
namespace {

using namespace std::chrono_literals;
using namespace protocol;

constexpr auto kSettles = 3600s, kTurn = 1s;

}  // namespace

// An ordinary morning, but for the last client, who may come.
void Life::everybody_begins() {
  for (std::size_t i = 0; i + 1 < kClients; ++i) {
    progress(actors_[i]);
    progress(actors_[i]);
  }
  check();
}

void Life::step_progress() { progress(any_actor()); }

// The next ordinary thing that this peer would do.
void Life::progress(Actor& actor) {
  if (!admitted(actor)) {
    hello(actor);
    if (!actor.stranger) say(actor, opening_of(actor));
    return;
  }
  if (actor.role == Role::kWorker)
    return say(actor,
               WorkerBeat{actor.lease, actor.worker, static_cast<std::uint32_t>(script_.below(2)), false, {}, 0});
  actor.asks = 1 + static_cast<std::uint32_t>(script_.below(3)) / 2 - static_cast<std::uint32_t>(script_.one_in(8));
  Request request;
  request.id = {1};
  request.waiting = actor.asks;
  say(actor, Demand{actor.session, {request}});
}

void Life::step_say() {
  Actor& actor = any_actor();
  const Header header = said_by(actor, script_, pool_);
  if (encode(header).size() > kControlMessageBytes) return;  // its socket refuses to send it
  if (std::holds_alternative<InterpreterDown>(header)) ++actor.epoch.value;
  say(actor, header);
}

// No message at all, or nearly one.
void Life::step_noise() {
  Actor& actor = any_actor();
  std::string frame = encode(opening_of(actor));
  const std::size_t at = script_.byte() * frame.size() / 256;
  switch (script_.below(4)) {
    case 0:
      frame.resize(at);
      break;
    case 1:
      frame[at] = static_cast<char>(script_.byte());
      break;
    case 2:
      frame.assign(kControlMessageBytes + script_.below(2), '[');
      break;
    case 3:
      frame.insert(at, "\"v\":-1,");
      break;
  }
  deliver(actor, frame, nullptr);
}

void Life::step_job() {
  const std::vector<SlurmJobId> living = launcher_->living();
  if (living.empty()) return pass(1s, true);
  FakeLauncher::Job& job = launcher_->jobs().at(living[script_.below(living.size())]);
  if (job.view.state == JobState::kQueued && !script_.one_in(8)) {
    launcher_->start(job);
    add_workers(job);
    return pass(2s, true);
  }
  constexpr JobEnd kEnds[] = {JobEnd::kCompleted, JobEnd::kFailed,   JobEnd::kCancelled, JobEnd::kTimeout,
                              JobEnd::kPreempted, JobEnd::kNodeFail, JobEnd::kGone};
  switch (script_.below(8)) {
    case 5:
      launcher_->requeue(job);
      break;
    case 6:
      launcher_->end(job, kEnds[script_.below(std::size(kEnds))]);
      break;
    case 7:
      launcher_->forget_ended();
      break;
    default:
      pass(1s, true);
  }
}

void Life::step_time() {
  constexpr std::chrono::milliseconds kTimes[] = {1s, 3s, 10s, 40s, 90s, 200ms};
  pass(kTimes[script_.below(std::size(kTimes))], true);
}

void Life::step_silence() {
  constexpr std::chrono::milliseconds kTimes[] = {20s, 35s, 70s, 130s, 1000s};
  if (script_.one_in(6)) return clock_.pass(600s);  // this machine was suspended
  pass(kTimes[script_.below(std::size(kTimes))], false);
}

void Life::step_trouble() {
  switch (script_.below(4)) {
    case 0:
      return launcher_->health(script_.one_in(2) ? Health::kWell : static_cast<Health>(script_.below(5)));
    case 1:
      daemon_dies();
      return daemon_starts();
    case 2:
      disk_failed_ = true;
      return disk_.begins(script_.one_in(2) ? 0 : journal_size_ + script_.byte());
    case 3:
      return disk_.ends();
  }
}

void Life::step_connection() {
  Actor& actor = any_actor();
  switch (script_.below(3)) {
    case 0:
      actor.cut = true;
      return;
    case 1:
      return service_->control().lost(actor.route());
    case 2:
      actor.cut = false;
      ++actor.connection;
  }
}

// The same process with another key, another session, or as the relay of a detached task.
void Life::step_identity() {
  Actor& actor = any_actor();
  if (actor.stranger) return;
  ++actor.life;
  actor.questions.clear();
  if (actor.role == Role::kWorker) return;
  switch (script_.below(3)) {
    case 0:
      return;
    case 1:
      actor.session = id_from<SessionId>(0x5e5510000 + ++sessions_made_);
      return pool_.sessions.push_back(actor.session);
    case 2:
      actor.session = daemon::DetachedTasks::session_of(pool_.tasks[script_.below(pool_.tasks.size() - kClients)]);
  }
}

void Life::step_files() {
  switch (script_.below(3)) {
    case 0:  // a worker has written an outcome of this task
      for (const std::string name : {"train", "eval"})
        if (std::filesystem::exists(setup_.folders.results() + "/" + name))
          std::ofstream(setup_.folders.results() + "/" + name + "/" + std::string(64, 'a') + ".outcome") << "o";
      return;
    case 1:
      std::filesystem::remove(setup_.folders.journal());
      service_->look_after();
      return;
    case 2: {
      std::error_code gone;
      std::filesystem::remove_all(setup_.folders.results() + "/train", gone);
      disk_failed_ = true;
    }
  }
}

void Life::pass(std::chrono::milliseconds time, bool beats) {
  for (auto left = time; left > 0ms && outcome_.trouble.empty(); left -= kTurn) {
    clock_.pass(std::min<std::chrono::milliseconds>(left, kTurn));
    launcher_->answer();
    run_timers();
    if (beats && (left / kTurn) % 5 == 0)
      for (Actor& actor : actors_)
        if (admitted(actor) && !actor.cut)
          deliver(actor,
                  actor.role == Role::kClient ? encode(Beat{})
                                              : encode(WorkerBeat{actor.lease, actor.worker, 0, false, {}, 0}),
                  nullptr);
    check();
  }
}

// Nothing goes wrong any more, everybody leaves, and an hour passes: nothing may be left.
void Life::settle() {
  disk_.ends();
  launcher_->health(Health::kWell);
  Actor& last = actors_.front();
  last.cut = false, ++last.life, last.questions.clear();
  last.session = id_from<SessionId>(0x5e5510000 + ++sessions_made_);
  launcher_->answer();
  pass(3s, true);  // the hellos of a second are counted
  hello(last);
  say(last, opening_of(last));
  for (const auto& names : {pool_.names, pool_.texts})
    for (const std::string& name : names)
      if (detached_used_ && daemon::usable_name(name)) say(last, CancelDetached{1, name, true});
  for (Actor& actor : actors_)
    if (actor.role == Role::kClient && admitted(actor)) say(actor, CloseSession{actor.session});
  check();
  const auto settled = [this] {
    return service_->core().leases().empty() && launcher_->living().empty() && service_->core().session_count() == 0;
  };
  for (auto left = std::chrono::milliseconds(kSettles); left > 0ms && outcome_.trouble.empty() && !settled();
       left -= kTurn) {
    clock_.pass(kTurn);
    launcher_->answer();
    run_timers();
    check();
  }
  if (outcome_.trouble.empty() && !settled())
    complain("an hour after everybody left, this is left:\n" + picture() + std::to_string(launcher_->living().size()) +
             " jobs" + histories());
}

}  // namespace pounce::daemon_fuzzer
