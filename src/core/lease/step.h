// One event and what it leads to: the time, the orders so far, the nearest deadline. Owns these, and the counters.
// Every rule writes here. A rule that changes what another one may look at says so; then all rules run once more.
// Thread: loop.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "core/lease/actions.h"
#include "core/lease/counters.h"

namespace pounce::lease {

class Step {
 public:
  void begin(TimePoint now);
  void begin_round();
  std::vector<Action> take_actions() { return std::exchange(actions_, {}); }

  TimePoint now() const { return now_; }
  TimePoint deadline() const { return deadline_; }  // TimePoint::max(): none
  bool changed() const { return changed_; }
  const Counters& counters() const { return counters_; }

  template <class T>
  void act(T action) {
    actions_.emplace_back(std::move(action));
    changed_ = true;
  }
  void change() { changed_ = true; }
  bool due(TimePoint when);  // true: now or past; else remembered as a deadline
  void ignore(const std::string& what);
  void note(const std::string& what) { last_note_ = what; }
  Counters& count() { return counters_; }

 private:
  TimePoint now_{};
  TimePoint deadline_ = TimePoint::max();
  std::vector<Action> actions_;
  bool changed_ = false;
  Counters counters_;
  std::string last_note_;  // for a debugger
};

}  // namespace pounce::lease
