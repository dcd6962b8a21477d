// Daemons of earlier boots of this machine, by the `place` file in each state folder: their leases are ours to look
// after now. Their journals are read; the endpoint is published in their folders too, because that is where their
// workers look for a daemon. Folders with nothing open are removed. Thread: main, before the loop.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/lease/journal_record.h"
#include "pounce/ids.h"
#include "pounced/folders.h"
#include "pounced/instance.h"

namespace pounce::daemon {

struct Predecessor {
  InstanceId instance;
  Folders folders;
  std::vector<lease::JournalRecord> open;
};

Result<void> write_place(const Folders& folders, const Place& place);
std::optional<Place> read_place(const std::string& path);

// Those of `now`'s cluster with open leases; finished ones are removed from the disk.
std::vector<Predecessor> take_over_predecessors(const Folders& ours, const Place& now);

}  // namespace pounce::daemon
