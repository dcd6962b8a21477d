// A group of host devices. Its ranks are threads or processes of one machine. They meet in a file in shared memory
// that only their user can open, and data goes through it piece by piece. The file is removed when all have joined.
// Thread: for each rank, its device's.
#pragma once

#include <memory>

#include "device/driver.h"

namespace pounce::device {

Result<std::unique_ptr<Group>> host_group(const GroupId& id, Rank rank, std::uint32_t ranks);

}  // namespace pounce::device
