// A client's request for one kind: a number of tasks with equal resources. Values only. Thread: any.
#pragma once

#include <cstdint>
#include <vector>

#include "pounce/fields.h"
#include "pounce/ids.h"
#include "pounce/resources.h"

namespace pounce {

struct Request {
  RequestId id;
  Resources resources;
  std::uint32_t waiting = 0, running = 0;
  std::vector<LeaseId> holds;
  std::uint32_t generation = 0;
  bool operator==(const Request&) const = default;

  static constexpr auto fields() {
    return table(field("id", &Request::id),
                 field("resources", &Request::resources),
                 field("waiting", &Request::waiting, "tasks not yet sent"),
                 field("running", &Request::running, "tasks sent and not ended"),
                 field("holds", &Request::holds, "leases that this client talks to: it claims them after a restart"),
                 field("generation", &Request::generation,
                       "grows with the first call after the client was told that a lease of this request, or the request, has ended")
                     .only_if_set());
  }
};

}  // namespace pounce
