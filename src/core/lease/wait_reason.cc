#include "core/lease/wait_reason.h"

#include <string_view>
#include <utility>

namespace pounce::lease {

Waiting waiting_of(const JobView& view) {
  // With it Slurm says more than with its word: that is "Reservation" where nodes are reserved for maintenance.
  constexpr std::string_view kNodes = "ReqNodeNotAvail";
  std::string word = view.reason_word.empty() ? view.reason : view.reason_word;
  if (view.reason.starts_with(kNodes)) word = kNodes;
  return {std::move(word), view.reason, view.class_name, view.limit, view.ahead, view.eta};
}

}  // namespace pounce::lease
