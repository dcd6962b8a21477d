// One lease as a person reads it, from the daemon's status document; and which ones a person means. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pounce/job.h"
#include "pounce/result.h"

namespace pounce::ctl {

struct LeaseRow {
  std::string id, class_name, gpu_type, state, reason, node, devices, session;
  std::string directory, host;  // of the notebook; empty: nobody claims the lease
  std::uint32_t gpus = 0, cpus = 0, job = 0, waiting = 0, running = 0, pid = 0;
  std::uint64_t memory_mib = 0;
  std::int64_t time_min = 0;
  double age_s = 0, state_s = 0;
  bool release_asked = false;
  std::string slurm_reason;   // of a queued one; empty: none
  LimitUse limit;             // that it waits for
  std::int32_t ahead = -1;    // queued jobs that go first; -1: not known
  std::int64_t start_s = 0;   // when Slurm expects it to start; 0: not known
  Eta eta{};                  // when pounce does
  std::uint32_t workers = 1;
};

// In the document's order. A text that is no status document has none.
std::vector<LeaseRow> lease_rows(const std::string& status_document);

// The rows whose ids begin as said. kBadRequest names those there are.
Result<std::vector<LeaseRow>> named(const std::vector<LeaseRow>& rows, const std::vector<std::string>& beginnings);
Result<std::vector<LeaseRow>> of_session(const std::vector<LeaseRow>& rows, const std::string& beginning);

std::string short_id(std::string_view id);     // enough to be told apart, and accepted everywhere
std::string asks(const LeaseRow& row);         // "1 GPU a100, 4 CPUs"
std::string in_words(double seconds);          // "40 s", "5 min", "2 h 5 min", "3 d 4 h"
std::string tasks_of(const LeaseRow& row);     // "2 wait, 1 runs"
std::string notebook_of(const LeaseRow& row);  // "/home/alice/fit (pid 12)"
std::string starts(const LeaseRow& row, std::int64_t now_s);  // "in about 10 min"; empty: not known
std::string when(const Eta& eta, std::int64_t now_s);          // "in about 10 min (5 min to 1 h)"
std::string why(const LeaseRow& row);          // of its state, with what it is about to do

}  // namespace pounce::ctl
