// The one line in which a starting daemon reports the outcome to its starter, on a pipe that both sides know by its
// descriptor's number. The pipe is closed right after. Nothing else of the starter's is inherited. Thread: main.
#pragma once

#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "pounce/error.h"

namespace pounce::daemon {

class StartReport {
 public:
  static constexpr int kDescriptor = 3;

  StartReport() = default;  // no starter waits: `serve` was started by hand
  explicit StartReport(UniqueFd pipe) : pipe_(std::move(pipe)) {}

  void ready() { tell("ready"); }
  void another_runs() { tell("another"); }
  void failed(const Error& error);

 private:
  void tell(std::string_view line);
  UniqueFd pipe_;
};

}  // namespace pounce::daemon
