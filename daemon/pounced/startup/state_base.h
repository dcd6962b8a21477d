// Chooses the folder that holds the state folders of all clusters: the configured one; else one below the home; else,
// if that cannot be written or others can write it, one on this machine's own disk. A network file system is fine.
// Thread: main, before the loop.
#pragma once

#include <functional>
#include <string>

namespace pounce::daemon {

struct StateBase {
  std::string path;
  std::string trouble;  // why it is not below the home: a sentence's beginning; empty: it is

  bool fallen_back() const { return !trouble.empty(); }
};

// `lives(base)`: a pounced that keeps its state there runs, or is about to. That folder is chosen, whatever its
// trouble is by now.
StateBase choose_state_base(const std::string& usual, const std::string& fallback,
                            const std::function<bool(const std::string& base)>& lives);

// /var/tmp/pounce-<uid>, which survives a reboot, or a name beside it if another user has taken that one.
std::string fallback_state_folder();

// Why no state can be kept where `folder` is or would be made: it cannot be written, or others can write it too.
// Empty: it can be used. Leaves nothing behind.
std::string why_not_usable(const std::string& folder);

}  // namespace pounce::daemon
