// Daemons of earlier boots of this machine, by the `place` file in each state folder: their leases are ours to look
// after now. Their journals are read; the endpoint is published in their folders too, because that is where their
// workers look for a daemon. Thread: main, before the loop.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/lease/events.h"
#include "pounce/ids.h"
#include "pounced/startup/folders.h"
#include "pounced/startup/instance.h"

namespace pounce::daemon {

struct PreviousInstance {
  InstanceId instance;
  Folders folders;
  std::vector<lease::JournalRecord> open;
};

Result<void> write_place(const Folders& folders, const Place& place);
std::optional<Place> read_place(const std::string& path);

// Returns the previous instances with leases that `own`, our journal, does not know to have ended. If all leases of
// one have ended, its journal is emptied: no daemon takes it over again, and its folder may go (gone_folders.h).
std::vector<PreviousInstance> take_over_previous_instances(const Folders& ours, const Place& now,
                                                const std::vector<lease::JournalRecord>& own);

}  // namespace pounce::daemon
