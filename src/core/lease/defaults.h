// The leasing times: one struct, and the one table of their configuration keys. pounced's configuration loader walks
// the table, docs/states.md prints it, a test compares the two. Units are in the key's name. Thread: any (values).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace pounce::lease {

struct Defaults {
  std::chrono::milliseconds keep_warm{0};
  std::chrono::milliseconds keep_warm_blind{60'000};
  std::chrono::milliseconds warm_poll{4'000};
  std::chrono::milliseconds yield_after{1'000};
  std::chrono::milliseconds step_yield_after{60'000};
  std::chrono::milliseconds step_min_run{600'000};
  std::chrono::milliseconds idle_release{60'000};
  std::chrono::milliseconds orphan_grace{30'000};
  std::chrono::milliseconds hello_deadline{120'000};
  std::chrono::milliseconds drain{10'000};
  std::chrono::milliseconds leave{60'000};
  std::chrono::milliseconds poll_min{2'000};
  std::chrono::milliseconds poll_max{30'000};
  std::chrono::milliseconds reconcile_interval{60'000};
  std::chrono::milliseconds worker_silence{15'000};
  std::chrono::milliseconds lost_after{60'000};
  std::chrono::milliseconds heartbeat{5'000};
  std::chrono::milliseconds daemon_idle_exit{1'800'000};
  std::chrono::milliseconds watchdog_idle{150'000};
  std::chrono::milliseconds watchdog_busy{900'000};
  std::chrono::milliseconds crash_window{300'000};
  std::chrono::milliseconds no_replacement{60'000};
  std::chrono::milliseconds avoid_node{1'800'000};
  std::chrono::milliseconds slurm_request{30'000};
  std::chrono::milliseconds result_keep{604'800'000};
  std::chrono::milliseconds result_hold{900'000};
  std::chrono::milliseconds parked_keep{1'209'600'000};
  std::uint32_t crash_limit = 3;
  std::uint32_t starts_per_hour = 0;
  std::uint32_t parked_most_mib = 0;
  std::uint32_t cell_output_mib = 64;
  std::uint32_t keep_cells = 0;
};

// A key is a time (`time` set; the key ends in _s or _ms) or a plain number (`number` set).
struct ConfigKey {
  std::string_view name;
  std::chrono::milliseconds Defaults::* time = nullptr;
  std::uint32_t Defaults::* number = nullptr;
  std::string_view meaning;
  std::uint32_t least = 1;  // of a number

  constexpr bool in_seconds() const { return name.ends_with("_s"); }
};

inline constexpr auto kConfigKeys = std::to_array<ConfigKey>({
    {"keep_warm_s", &Defaults::keep_warm, nullptr,
     "an idle lease is kept this much longer than idle_release_s, while nobody waits for what it holds"},
    {"keep_warm_blind_s", &Defaults::keep_warm_blind, nullptr,
     "at most so much longer where Slurm shows nobody the jobs of others"},
    {"warm_poll_s", &Defaults::warm_poll, nullptr,
     "how often the queue is looked at while a lease is idle and could go to who waits"},
    {"yield_after_s", &Defaults::yield_after, nullptr,
     "an idle lease whose variables are saved is given to who waits for it after so long"},
    {"step_yield_after_s", &Defaults::step_yield_after, nullptr,
     "a loop of pounce.steps is left between two steps for who has waited so long for what its lease holds"},
    {"step_min_run_s", &Defaults::step_min_run, nullptr,
     "but not before it has run for so long; a year switches that off"},
    {"idle_release_s", &Defaults::idle_release, nullptr, "a lease with nothing waiting or running is given back"},
    {"orphan_grace_s", &Defaults::orphan_grace, nullptr, "a silent session's tasks are cancelled, its leases ended"},
    {"hello_deadline_s", &Defaults::hello_deadline, nullptr, "a running job without a ready interpreter is given up"},
    {"drain_s", &Defaults::drain, nullptr, "a worker told to end is cancelled in Slurm if its job is still there"},
    {"leave_s", &Defaults::leave, nullptr, "a worker that saves a notebook's variables is given so long to leave"},
    {"poll_min_s", &Defaults::poll_min, nullptr, "first wait between two looks at pending jobs and at a dead Slurm"},
    {"poll_max_s", &Defaults::poll_max, nullptr, "longest wait between two looks; each wait is twice the last"},
    {"reconcile_interval_s", &Defaults::reconcile_interval, nullptr,
     "search by tag, only while leases or doubts exist"},
    {"worker_silence_s", &Defaults::worker_silence, nullptr, "a worker not heard for so long: Slurm is asked"},
    {"lost_after_s", &Defaults::lost_after, nullptr, "a worker not heard for so long: its job is cancelled"},
    {"heartbeat_ms", &Defaults::heartbeat, nullptr, "beat of clients and workers to pounced"},
    {"daemon_idle_exit_s", &Defaults::daemon_idle_exit, nullptr, "pounced without leases and sessions ends"},
    {"watchdog_idle_s", &Defaults::watchdog_idle, nullptr, "a worker that nobody speaks to ends; nothing runs"},
    {"watchdog_busy_s", &Defaults::watchdog_busy, nullptr, "the same while a task runs"},
    {"crash_limit", nullptr, &Defaults::crash_limit, "interpreter deaths within crash_window_s that end a lease"},
    {"starts_per_hour", nullptr, &Defaults::starts_per_hour,
     "leases that may be asked for in an hour; 0: as many as are wanted", 0},
    {"crash_window_s", &Defaults::crash_window, nullptr, "see crash_limit"},
    {"no_replacement_s", &Defaults::no_replacement, nullptr, "after a foreign scancel no new job for this long"},
    {"avoid_node_s", &Defaults::avoid_node, nullptr,
     "after a GPU failed, or was not the lease's, no lease is asked for on its node for so long"},
    {"slurm_request_s", &Defaults::slurm_request, nullptr, "deadline of one request to pounce-slurm"},
    {"result_keep_s", &Defaults::result_keep, nullptr, "the result of a detached task is kept this long"},
    {"result_hold_s", &Defaults::result_hold, nullptr, "and this long on a worker that does not see the folder for it"},
    {"parked_keep_s", &Defaults::parked_keep, nullptr,
     "saved variables of a notebook are kept this long after they were last saved; an hour at least"},
    {"parked_most_mib", nullptr, &Defaults::parked_most_mib,
     "a notebook's variables are saved up to this size, in MiB; 0: whatever their size", 0},
    {"cell_output_mib", nullptr, &Defaults::cell_output_mib,
     "of a cell that goes on without its kernel so much output is kept, in MiB; 0: no cell goes on", 0},
    {"keep_cells", nullptr, &Defaults::keep_cells,
     "1: every cell goes on without its kernel; 0: those with --bg or --keep", 0},
});

}  // namespace pounce::lease
