#include "simulator/words.h"

#include <variant>

#include "messages/sentence.h"
#include "model/worker_report.h"

namespace pounce::simulator {
namespace {

struct Teller {
  std::ostream& to;

  void operator()(const lease::SessionOpened& event) const { session("session opened", event.session); }
  void operator()(const lease::SessionClosed& event) const { session("session closed", event.session); }
  void operator()(const lease::DemandChanged& event) const {
    session("demand", event.session);
    for (const Request& one : event.requests) {
      to << "; request " << one.id.value << " waiting " << one.waiting << " running " << one.running << " holds";
      for (const LeaseId& lease : one.holds) to << " " << Short{lease};
    }
  }
  void operator()(const lease::WorkerConnected& event) const { worker("worker connected", event); }
  void operator()(const lease::InterpreterStarted& event) const {
    worker("interpreter started", event);
    to << ", epoch " << event.epoch.value;
  }
  void operator()(const lease::InterpreterDied& event) const {
    worker("interpreter died", event);
    to << ", epoch " << event.epoch.value;
  }
  void operator()(const lease::WorkerSeen& event) const {
    worker("beat", event);
    to << ", runs " << event.running << ", " << words(event.state).of(event.state);
  }
  void operator()(const lease::WorkerLost& event) const {
    worker(event.cut ? "worker cut off" : "farewell", event);
    to << ", " << words(event.state).of(event.state);
  }
  void operator()(const auto&) const { to << "something"; }

 private:
  void session(const char* what, const SessionId& id) const {
    to << what << " of " << static_cast<int>(id.bytes().back());
  }
  void worker(const char* what, const auto& event) const {
    to << what << " of " << Short{event.lease} << "." << event.worker.value << " by link " << event.link.value;
  }
};

template <class... Kinds>
bool is_one_of(const lease::Event& event) {
  return (std::holds_alternative<Kinds>(event) || ...);
}

}  // namespace

std::ostream& operator<<(std::ostream& to, const Short& one) { return to << one.lease.hex().substr(0, 4); }

std::ostream& operator<<(std::ostream& to, const Said& one) { return to << messages::sentence(one.cause); }

std::ostream& operator<<(std::ostream& to, const Heard& one) {
  std::visit(Teller{to}, one.event);
  return to;
}

bool worth_telling(const lease::Event& event) {
  return is_one_of<lease::SessionOpened, lease::SessionClosed, lease::DemandChanged, lease::WorkerConnected,
                   lease::InterpreterStarted, lease::InterpreterDied, lease::WorkerSeen, lease::WorkerLost>(event);
}

}  // namespace pounce::simulator
