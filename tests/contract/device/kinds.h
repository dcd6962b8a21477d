// The kinds of device that the contract holds for: host memory, CUDA with a runtime and a NCCL of ours, and NVIDIA's
// own where a GPU is. Each case leaves nothing behind on any of them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "contract/device/fake_cuda.h"
#include "contract/device/fake_nccl.h"
#include "device/device.h"
#include "device/driver.h"

namespace pounce::device {

enum class Kind { kHost, kFakeCuda, kCuda };
void PrintTo(Kind kind, std::ostream* out);

// A library that was built with this program: where it was built, or, on another machine (tests/gpu/bundle), beside the
// program.
std::string built(const char* library);

constexpr std::size_t kMiB = 1 << 20;

Result<std::unique_ptr<Backend>> open_backend(Kind kind);
FakeCuda& fake_cuda();
FakeNccl& fake_nccl();
void reset_fakes();
void expect_nothing_left();  // of what the fakes count

std::vector<std::byte> pattern(std::size_t size, std::uint8_t seed = 1);  // no two stretches are alike
std::uint64_t checksum(std::span<const std::byte> bytes);                 // each byte by its place
std::uint64_t checksum_on_device(Kind kind,
                                 const Buffer& buffer);  // the same, by the device itself: not by way of a copy
bool has_device_checksum();                              // for a real GPU it is compiled by nvcc

// A case runs on each kind; one that is not here is skipped, and says why.
class OnEachKind : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    reset_fakes();
    auto opened = open_backend(GetParam());
    if (!opened) GTEST_SKIP() << opened.error().text;
    backend_ = std::move(*opened);
  }
  void TearDown() override {
    backend_.reset();
    expect_nothing_left();
  }

  std::unique_ptr<Backend> backend_;
};

}  // namespace pounce::device
