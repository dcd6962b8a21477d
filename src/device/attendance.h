// Records which ranks have come to which step of a group's work. No library for groups of GPUs says which rank it
// waits for, so each rank reports to the client of the gang, which hears all of them. Thread: any; a call may wait
// for the network.
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
  virtual std::optional<std::vector<Rank>> missing(std::uint64_t step) = 0;  // in order; nullopt: not known here
};

}  // namespace pounce::device
