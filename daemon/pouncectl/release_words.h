// The outcome of a release in words. Pure. Thread: any.
#pragma once

#include <string>

#include "pouncectl/lease_row.h"
#include "protocol/messages.h"

namespace pounce::ctl {

std::string release_words(const LeaseRow& before, const protocol::ReleaseRow& after, protocol::ReleaseHow how);

}  // namespace pounce::ctl
