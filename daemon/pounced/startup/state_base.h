// In which folder the state folders of all clusters lie: the configured one; else below the home; else, when nothing can
// be written there or others can, on this machine's own disk. A network file system is fine. Thread: main, before the loop.
#pragma once

#include <functional>
#include <string>

namespace pounce::daemon {

struct StateBase {
  std::string path;
  std::string trouble;  // why it is not below the home: a sentence's beginning; empty: it is

  bool fallen_back() const { return !trouble.empty(); }
};

// `lives(base)`: a pounced that keeps its state there runs, or is about to. That one it is, whatever its trouble is by now.
StateBase choose_state_base(const std::string& usual, const std::string& fallback,
                            const std::function<bool(const std::string& base)>& lives);

// /var/tmp/pounce-<uid>, which survives a reboot, or a name beside it where somebody else has taken that one.
std::string fallback_state_folder();

// Why nothing can be kept where `folder` is or would be made: it cannot be written, or others can write it too. Empty:
// something can. Leaves nothing behind.
std::string why_not_usable(const std::string& folder);

}  // namespace pounce::daemon
