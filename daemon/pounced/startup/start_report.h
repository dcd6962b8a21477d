// The one line by which a starting daemon tells whoever started it how it went: on a pipe that both sides know by its
// descriptor's number, closed right after. Nothing else of the starter's is inherited. Thread: main.
#pragma once

#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "pounce/error.h"

namespace pounce::daemon {

class StartReport {
 public:
  static constexpr int kDescriptor = 3;

  StartReport() = default;  // nobody asked: `serve` was started by hand
  explicit StartReport(UniqueFd pipe) : pipe_(std::move(pipe)) {}

  void ready() { tell("ready"); }
  void another_runs() { tell("another"); }
  void failed(const Error& error);

 private:
  void tell(std::string_view line);
  UniqueFd pipe_;
};

}  // namespace pounce::daemon
