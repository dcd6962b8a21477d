// Bugs that this fuzzer plants between its peers and the daemon, as if the daemon had them: each must be found.
#pragma once

#include <cstdint>

namespace pounce::daemon_fuzzer {

enum class PlantedBug : std::uint8_t {
  kNone,
  kSpeaksForAnother,  // who a message names is believed, not who sent it
  kAnswersEverybody,  // an answer goes to every client
  kWrongWorker,       // what is for one lease's worker goes to another's
  kSessionKept,       // a closed session is not forgotten
  kSecretShown,       // the environment of one session stands in a text for another
  kJournalForgets,    // the last line does not get to the disk
  kJournalTorn,       // part of a line stays on the disk
  kCancelIgnored,     // a job that was cancelled lives on
  kTimersLost,        // nothing happens by itself
  kRefusedAndDone     // a message is refused, and acted upon
};

}  // namespace pounce::daemon_fuzzer
