// Ids and texts that mean something in this life, or did, or never will: what the fields of a strange message are drawn
// from. Thread: the test's.
#pragma once

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "daemon_fuzzer/script.h"
#include "model/ids.h"

namespace pounce::daemon_fuzzer {

struct Pool {
  std::vector<SessionId> sessions;
  std::vector<LeaseId> leases;  // alive, ended, never heard of
  std::vector<TaskId> tasks;
  std::vector<std::string> names;  // of detached tasks
  std::vector<std::string> texts;

  template <class Id>
  std::vector<Id> of() const {
    if constexpr (std::is_same_v<Id, SessionId>)
      return sessions;
    else if constexpr (std::is_same_v<Id, LeaseId>)
      return leases;
    else if constexpr (std::is_same_v<Id, TaskId>)
      return tasks;
    else
      return {};
  }
};

template <class Id>
Id id_from(std::uint64_t number) {
  std::array<std::uint8_t, Id::kBytes> bytes{};
  for (std::size_t i = 0; i < 8 && i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(number >> (8 * i));
  return Id(bytes);
}

template <class T>
T number_from(Script& script) {
  const T most = std::numeric_limits<T>::max();
  const T bounds[] = {0,
                      1,
                      2,
                      3,
                      64,
                      65,
                      256,
                      257,
                      4096,
                      4097,
                      65'000,
                      most,
                      static_cast<T>(most - 1),
                      static_cast<T>(most / 2),
                      std::numeric_limits<T>::min()};
  return bounds[script.below(std::size(bounds))];
}

}  // namespace pounce::daemon_fuzzer
