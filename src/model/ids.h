// Strong id types. Each id is a fixed number of random or digest bytes, written as lower-case hex on the wire, in logs
// and in the journal. Thread: any (values).
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pounce/fields.h"

namespace pounce {

template <class Tag, std::size_t N>
class HexId {
 public:
  static constexpr std::size_t kBytes = N;

  constexpr HexId() = default;
  explicit constexpr HexId(const std::array<std::uint8_t, N>& bytes) : bytes_(bytes) {}

  // Exactly 2*N lower-case hex digits, else nullopt.
  static std::optional<HexId> from_hex(std::string_view text) {
    if (text.size() != 2 * N) return std::nullopt;
    HexId id;
    for (std::size_t i = 0; i < N; ++i) {
      const int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
      if (high < 0 || low < 0) return std::nullopt;
      id.bytes_[i] = static_cast<std::uint8_t>(high * 16 + low);
    }
    return id;
  }

  std::string hex() const {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text(2 * N, '0');
    for (std::size_t i = 0; i < N; ++i) {
      text[2 * i] = kDigits[bytes_[i] >> 4];
      text[2 * i + 1] = kDigits[bytes_[i] & 15];
    }
    return text;
  }

  constexpr std::span<const std::uint8_t, N> bytes() const { return bytes_; }
  // All zero: "no id". Random ids and digests are never zero in practice.
  constexpr bool empty() const { return bytes_ == std::array<std::uint8_t, N>{}; }

  constexpr auto operator<=>(const HexId&) const = default;

 private:
  static constexpr int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
  }

  std::array<std::uint8_t, N> bytes_{};
};

// A plain number that must not be mixed with another plain number.
template <class Tag, class T>
struct Number {
  T value{};
  constexpr auto operator<=>(const Number&) const = default;
};

using InstanceId = HexId<struct InstanceTag, 6>;   // one running pounced; derived from where it runs
using LeaseId = HexId<struct LeaseTag, 8>;         // random; one lease id = one submission, ever
using SessionId = HexId<struct SessionTag, 16>;    // random; one connection of one kernel
using TaskId = HexId<struct TaskTag, 16>;          // random
using ObjectId = HexId<struct ObjectTag, 16>;      // XXH3-128 of the object's bytes
using FunctionId = HexId<struct FunctionTag, 16>;  // XXH3-128 of the pickled function

using SlurmJobId = Number<struct SlurmJobTag, std::uint32_t>;
using RequestId = Number<struct RequestTag, std::uint32_t>;   // names one resource request inside a session
using WorkerIndex = Number<struct WorkerTag, std::uint32_t>;  // 0.. inside a lease
using Epoch = Number<struct EpochTag, std::uint32_t>;         // grows with each interpreter start of a worker

// Slurm reuses job ids: a job is named by all three.
struct JobIdentity {
  SlurmJobId job;
  std::int64_t submit_time_s = 0;  // Slurm's submit time, seconds since 1970
  std::uint32_t restart = 0;
  constexpr auto operator<=>(const JobIdentity&) const = default;

  static constexpr auto fields() {
    return table(field("job", &JobIdentity::job), field("submit_time_s", &JobIdentity::submit_time_s),
                 field("restart", &JobIdentity::restart));
  }
};

}  // namespace pounce

template <class Tag, std::size_t N>
struct std::hash<pounce::HexId<Tag, N>> {
  std::size_t operator()(const pounce::HexId<Tag, N>& id) const noexcept {
    std::uint64_t h = 1469598103934665603ull;
    for (std::size_t i = 0; i < N; i += sizeof h) {  // eight bytes at a time: each is random or of a digest already
      std::uint64_t word = 0;
      std::memcpy(&word, id.bytes().data() + i, std::min(sizeof word, N - i));
      h = (h ^ word) * 1099511628211ull;
      h ^= h >> 32;
    }
    return h;
  }
};
