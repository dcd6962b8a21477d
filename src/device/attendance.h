// Who has come to which step of a group's work. No library for groups of GPUs tells which rank it waits for, so each
// tells somebody who hears all of them: the client of a gang. Thread: any; a call may wait for the network.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "device/driver.h"

namespace pounce::device {

class Attendance {
 public:
  Attendance() = default;
  virtual ~Attendance() = default;
  Attendance(const Attendance&) = delete;
  Attendance& operator=(const Attendance&) = delete;

  virtual void arrive(Rank rank, std::uint64_t step) = 0;
  virtual std::optional<std::vector<Rank>> missing(std::uint64_t step) = 0;  // in order; nothing: it is not known here
};

}  // namespace pounce::device
