// What a test sets and reads of the NCCL that stands in for NVIDIA's (fake_nccl.cc).
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

namespace pounce::device {

struct FakeNccl {
  std::mutex lock;  // guards all below
  int version = 22700;
  int fails_with = 0;             // what NCCL tells of a communicator when it is asked next
  std::size_t communicators = 0;  // alive
  std::size_t aborted = 0;
};

using FakeNcclFunction = FakeNccl* (*)();  // the library's fake_nccl()

}  // namespace pounce::device
