#include "memory/parts.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

#include "base/blocked_signals.h"
#include "base/processors.h"

namespace pounce::memory {
namespace {

constexpr std::size_t kMostThreads = 4;
constexpr std::size_t kWorthAThread = 8 * 1024 * 1024;  // a thread costs about 20 µs, these bytes some 2 ms

std::size_t part_size(std::size_t size) {
  const std::size_t threads = std::clamp<std::size_t>(size / kWorthAThread, 1, std::min(kMostThreads, processors()));
  const std::size_t part = (size + threads - 1) / threads;
  return (part + kPartAlign - 1) / kPartAlign * kPartAlign;
}

}  // namespace

bool in_parts(std::size_t size, const std::function<bool(std::size_t, std::size_t)>& work) {
  if (size < 2 * kWorthAThread) return work(0, size);
  const std::size_t part = part_size(size);
  std::vector<char> done((size + part - 1) / part, 0);
  const auto run = [&](std::size_t index) { done[index] = work(index * part, std::min(part, size - index * part)); };
  {
    const BlockedSignals blocked;  // signals go to the threads that were there before
    std::vector<std::jthread> helpers;
    std::size_t next = 1;
    try {
      for (; next < done.size(); ++next) helpers.emplace_back(run, next);
    } catch (const std::system_error&) {  // no more threads: this one does the rest
    }
    for (; next < done.size(); ++next) run(next);
    run(0);
  }
  return std::ranges::all_of(done, [](char ok) { return ok != 0; });
}

}  // namespace pounce::memory
