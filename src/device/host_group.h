// A group of host devices. Its ranks are threads or processes of one machine, which meet in a file in its memory that
// only their user can open; data goes through it piece by piece. It is gone when all have joined. Thread: each rank its
// device's.
#pragma once

#include <memory>

#include "device/driver.h"

namespace pounce::device {

Result<std::unique_ptr<Group>> host_group(const GroupId& id, Rank rank, std::uint32_t ranks);

}  // namespace pounce::device
