// An ordinary message of each type from this peer, then changed by the script. Thread: the test's.
#pragma once

#include "daemon_fuzzer/actor.h"
#include "daemon_fuzzer/pool.h"
#include "daemon_fuzzer/script.h"
#include "protocol/messages.h"

namespace pounce::daemon_fuzzer {

// What is ordinary for it at this moment: what it says first, then what follows.
protocol::Header opening_of(const Actor& actor);
// Any type of the whole protocol.
protocol::Header said_by(const Actor& actor, Script& script, const Pool& pool);
// What the answer to a question is called, and its number; empty: it is no question.
std::pair<std::string, std::uint32_t> answer_wanted(const protocol::Header& header);

}  // namespace pounce::daemon_fuzzer
