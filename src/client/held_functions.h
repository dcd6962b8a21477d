// Which functions one worker's Python has from us, and which of them its tasks still need. A function that no task
// needs stays there for a while, up to a budget, so that calling it again sends nothing. Thread: the leader token's
// holder.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "pounce/ids.h"

namespace pounce::client {

class HeldFunctions {
 public:
  static constexpr std::uint64_t kBudgetBytes = 32ull * 1024 * 1024;

  // `task` needs the function until it has ended. True: the worker does not have it, so it must be sent first.
  bool needs(const FunctionId& id, std::uint64_t bytes, const TaskId& task);
  void ended(const TaskId& task);
  std::uint64_t bytes() const { return bytes_; }

  // The least recently needed functions over the budget that no task needs; they are forgotten here.
  std::vector<FunctionId> drop_over(std::uint64_t budget);
  void clear();  // the connection broke: what was sent may not have arrived

 private:
  struct Held {
    std::uint64_t bytes = 0;
    std::uint32_t tasks = 0;       // that need it
    std::uint64_t unneeded_at = 0;  // its place in unneeded_, while no task does
  };
  std::unordered_map<FunctionId, Held> functions_;
  std::unordered_map<TaskId, FunctionId> tasks_;
  std::map<std::uint64_t, FunctionId> unneeded_;  // in the order in which their last tasks ended
  std::uint64_t ends_ = 0, bytes_ = 0;
};

}  // namespace pounce::client
