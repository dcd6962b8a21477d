#include "core/lease/rules.h"

namespace pounce::lease {
namespace {

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;  // clang before 17 does not find it itself

}  // namespace

void Rules::hear(const Event& event) {
  std::visit(Overloaded{[this](const SessionOpened& what) { presence.on(what); },
                        [this](const SessionSeen& what) { presence.on(what); },
                        [this](const SessionClosed& what) { presence.on(what); },
                        [this](const DemandChanged& what) { demand.on(what); },
                        [this](const ReleaseAsked& what) { release.on(what); },
                        [this](const JournalRead& what) { restart.on(what); },
                        [this](const Submitted& what) { submission.on(what); },
                        [this](const SubmitFailed& what) { submission.on(what); },
                        [this](const ReconcileDone& what) { findings.on(what); },
                        [this](const Polled& what) { jobs.on(what); },
                        [this](const QueueSnapshotTaken& what) { release.on(what); },
                        [this](const CancelDone& what) { ending.on(what); },
                        [this](const WorkerConnected& what) { workers.on(what); },
                        [this](const InterpreterStarted& what) { workers.on(what); },
                        [this](const InterpreterDied& what) { workers.on(what); },
                        [this](const WorkerSeen& what) { workers.on(what); },
                        [this](const WorkerLost& what) { workers.on(what); },
                        [this](const TimesChanged& what) { context.times = what.times; },
                        [](const TimePassed&) {}},  // the rules look at the time after every event
             event);
}

void Rules::settle() {
  presence.settle();
  for (auto& [id, lease] : context.leases) settle(lease);
  demand.settle();
  context.polling.settle();
  steps.settle();
  idle.settle();
  context.reconciliation.settle();
  daemon.settle();
}

void Rules::settle(Lease& lease) {
  switch (lease.state) {
    case LeaseState::kRequested:
      return submission.settle(lease);
    case LeaseState::kQueued:
    case LeaseState::kStarting:
    case LeaseState::kIdle:
    case LeaseState::kBusy:
      return deadlines.settle(lease);
    case LeaseState::kDraining:
    case LeaseState::kEnding:
      return ending.settle(lease);
    case LeaseState::kSubmitting:
    case LeaseState::kEnded:
      return;
  }
}

}  // namespace pounce::lease
