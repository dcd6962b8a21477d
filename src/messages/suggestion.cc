#include "messages/suggestion.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace pounce::messages {
namespace {

using model::JobFigures;
using std::chrono::minutes;

constexpr std::uint64_t kGiB = 1024;                        // in MiB
constexpr std::int64_t kEnoughWorkMs = 60'000;  // less says nothing about CPUs and GPUs
constexpr std::int32_t kLittle = 20;                      // per cent of the time that a GPU computes
constexpr minutes kShort{10};                             // less is not worth a suggestion

std::string decimal(double value) {
  const auto tenths = static_cast<std::int64_t>(value * 10 + 0.5);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

std::string time_words(minutes time) {
  const auto hours = time.count() / 60, rest = time.count() % 60;
  if (hours == 0) return std::to_string(time.count()) + " min";
  return std::to_string(hours) + " h" + (rest == 0 ? "" : " " + std::to_string(rest) + " min");
}

// Half as much again as was used, in whole GiB.
std::uint64_t enough_memory(std::uint64_t used) { return (used * 3 / 2 + kGiB - 1) / kGiB * kGiB; }

std::string of_memory(const Resources& resources, const JobFigures& used) {
  if (resources.memory_mib == 0 || used.memory_peak_mib == 0) return {};
  const std::string said = "asked " + memory_words(resources.memory_mib) + " of memory, used " + memory_words(used.memory_peak_mib) + " at most";
  if (used.memory_peak_mib * 10 > resources.memory_mib * 9) return said + ": ask for " + memory_words(enough_memory(used.memory_peak_mib)) + ", or Slurm may end it";
  const std::uint64_t enough = enough_memory(used.memory_peak_mib);
  return enough * 2 <= resources.memory_mib ? said + ": ask for " + memory_words(enough) : std::string();
}

std::string of_cpus(const Resources& resources, const JobFigures& used) {
  if (resources.cpus < 2 || used.busy_ms < kEnoughWorkMs) return {};
  const double mean = static_cast<double>(used.cpu_ms) / static_cast<double>(used.busy_ms) / resources.workers;
  const auto enough = static_cast<std::uint32_t>(std::max(std::ceil(mean), 1.0));
  if (enough * 2 > resources.cpus) return {};
  return "asked " + std::to_string(resources.cpus) + " CPUs, kept " + decimal(mean) + " busy on average: ask for " + std::to_string(enough);
}

std::string of_gpus(const Resources& resources, const JobFigures& used) {
  if (resources.gpus == 0 || used.busy_ms < kEnoughWorkMs) return {};
  std::string words;
  if (used.gpu_percent >= 0 && used.gpu_percent < kLittle)
    words = "its GPUs computed " + std::to_string(used.gpu_percent) + " % of the time: fewer, a slice or none may do";
  if (used.gpu_memory_peak_mib == 0 || used.gpu_memory_peak_mib * 4 > used.gpu_memory_total_mib) return words;
  return words + (words.empty() ? "" : "; ") + "used " + memory_words(used.gpu_memory_peak_mib) + " of " +
         memory_words(used.gpu_memory_total_mib) + " of GPU memory: one with " + memory_words(enough_memory(used.gpu_memory_peak_mib)) + " would do";
}

std::string of_time(const Resources& resources, const JobFigures& used, bool over) {
  const auto held = std::chrono::ceil<minutes>(std::chrono::milliseconds(used.busy_ms + used.idle_ms));
  if (!over || resources.time < 2 * kShort || held * 4 > resources.time) return {};
  return "asked " + time_words(resources.time) + ", held it for " + time_words(held) + ": a shorter time can start sooner";
}

}  // namespace

std::string memory_words(std::uint64_t mib) {
  if (mib < kGiB) return std::to_string(mib) + " MiB";
  if (mib % kGiB == 0) return std::to_string(mib / kGiB) + " GiB";
  return decimal(static_cast<double>(mib) / kGiB) + " GiB";
}

std::string suggestion(const Resources& resources, const JobFigures& used, bool over) {
  std::string words;
  for (const std::string& part : {of_memory(resources, used), of_cpus(resources, used), of_gpus(resources, used), of_time(resources, used, over)})
    if (!part.empty()) words += (words.empty() ? "" : "; ") + part;
  return words.empty() ? "what was asked for fits what was used" : words;
}

}  // namespace pounce::messages
