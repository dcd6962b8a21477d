#include "client/client.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "identity/proof.h"
#include "transport/leader_token.h"

namespace pounce::client {
namespace {

// "CONDA_*": every longer name of letters, digits and _ that begins so.
constexpr std::string_view kTravels[] = {
    // the user's, and the language
    "PATH", "LD_LIBRARY_PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE", "LC_*",
    // Python's
    "PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONHASHSEED", "VIRTUAL_ENV", "CONDA_*",
    // modules that are loaded
    "MODULEPATH", "MODULESHOME", "LOADEDMODULES", "_LMFILES_", "LMOD_*",
    // threads
    "OMP_*", "MKL_*", "OPENBLAS_NUM_THREADS", "NUMEXPR_*", "VECLIB_MAXIMUM_THREADS", "BLIS_NUM_THREADS",
    // libraries
    "CUDA_HOME", "CUDA_PATH", "XDG_CACHE_HOME", "HF_HOME", "TORCH_HOME", "MPLBACKEND", "MPLCONFIGDIR"};

bool word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

bool travels(std::string_view name) {
  return std::ranges::any_of(kTravels, [name](std::string_view one) {
    if (!one.ends_with('*')) return name == one;
    one.remove_suffix(1);
    return name.starts_with(one) && word(name.substr(one.size()));
  });
}

Environment travelling(const char* const* environment) {
  Environment found = environment_of(environment);
  std::erase_if(found, [](const auto& entry) { return !travels(entry.first); });
  return found;
}

namespace {

// pounced answers within microseconds; a stopped one must not keep a kernel from ending.
constexpr std::chrono::milliseconds kFarewell{300};

std::atomic<unsigned> forks{0};  // how many forks this process is away from the first one

void count_forks() {
  [[maybe_unused]] static const int once = ::pthread_atfork(nullptr, nullptr, [] { ++forks; });
}

}  // namespace

struct Client::Parts {
  explicit Parts(Setup setup) : engine(context, identity::make_key_pair(), std::move(setup), events) {}

  const unsigned born = forks;
  std::atomic<bool> closed = false;
  EventQueue events;
  transport::Context context;
  Engine engine;
  transport::LeaderToken leader_token{engine, "pounce-client"};  // last: its thread uses all of the above
};

Client::Client(Setup setup) {
  count_forks();
  parts_ = std::make_unique<Parts>(std::move(setup));
}

Client::~Client() {
  if (parts_->born != forks) {
    parts_->leader_token.abandon_after_fork();
    static_cast<void>(parts_.release());  // threads, locks and sockets are the parent's: leaked on purpose
    return;
  }
  close();
}

std::optional<Error> Client::unusable() const {
  if (parts_->born != forks)
    return Error{ErrorCode::kForked, "This process was forked from the one that made the client.", {}, {}};
  if (parts_->closed) return Error{ErrorCode::kClosed, "The client was closed.", {}, {}};
  return std::nullopt;
}

Result<void> Client::hold(const std::function<void(Engine&)>& act) {
  if (auto error = unusable()) return failure(*std::move(error));
  parts_->leader_token.hold([&] { act(parts_->engine); });
  return {};
}

bool Client::hold_at_once(const std::function<void(Engine&)>& act) {
  return !unusable() && parts_->leader_token.hold_at_once([&] { act(parts_->engine); });
}

Result<void> Client::wait(const TaskId& task, TimePoint deadline, const std::function<bool()>& interrupted) {
  if (auto error = unusable()) return failure(*std::move(error));
  Parts& parts = *parts_;
  // Asking for signals costs a visit to the GIL: only after turns that a signal may have ended.
  const auto stop = [&] { return parts.closed || (parts.engine.last_turn_was_quiet() && interrupted()); };
  parts.events.enter();
  parts.leader_token.pump_until([&] { return !parts.events.empty() || !parts.engine.state(task); }, deadline, stop);
  return {};
}

std::vector<Event> Client::drain_waited() {
  auto events = parts_->events.drain();
  parts_->events.leave();
  return events;
}

std::vector<Event> Client::drain() { return parts_->born == forks ? parts_->events.drain() : std::vector<Event>{}; }

bool Client::wait_for_events() { return parts_->born == forks && parts_->events.wait(); }

void Client::close() {
  if (parts_->born != forks || parts_->closed.exchange(true)) return;
  const TimePoint closed = Clock::now();
  parts_->leader_token.hold([&] { parts_->engine.close(); });
  parts_->leader_token.pump_until([&] { return parts_->engine.closed_for_good(closed); }, closed + kFarewell,
                                  [] { return false; });
  parts_->events.close();
}

}  // namespace pounce::client
