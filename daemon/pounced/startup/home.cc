#include "pounced/startup/home.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

namespace pounce::daemon {
namespace {

constexpr char kBelowHome[] = "/.local/state/pounce";

std::string registered_home() {
  const passwd* entry = ::getpwuid(::geteuid());
  return entry != nullptr ? entry->pw_dir : "/";
}

}  // namespace

std::string home_folder() {
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? home : registered_home();
}

std::string default_state_folder() { return home_folder() + kBelowHome; }
std::string usual_state_folder() { return registered_home() + kBelowHome; }

}  // namespace pounce::daemon
