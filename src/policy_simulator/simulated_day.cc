#include "policy_simulator/simulated_day.h"

#include <algorithm>
#include <memory>

#include "policy_simulator/batch_system.h"
#include "policy_simulator/user.h"

namespace pounce::policy_simulator {
namespace {

constexpr std::size_t kEnoughBroken = 20;

std::chrono::seconds part_of(std::vector<Duration>& waits, std::size_t percent) {
  if (waits.empty()) return {};
  const auto at = waits.begin() + static_cast<std::ptrdiff_t>((waits.size() - 1) * percent / 100);
  std::ranges::nth_element(waits, at);
  return std::chrono::round<std::chrono::seconds>(*at);
}

}  // namespace

// Runs the day and then until all started work ends; afterwards nothing may be left.
Day simulate(const Site& site, const BatchRules& rules) {
  Day day;
  Timeline time;
  std::map<std::string, std::vector<Duration>> waits;
  BatchSystem slurm(site, rules, time, day);
  std::vector<std::unique_ptr<User>> people;
  const TimePoint end = time.now() + site.hours, over = end + 60 * 24h;
  for (const ClassRule& one : site.classes) day.classes[one.name];
  for (std::uint32_t n = 0; n < site.users; ++n) {
    people.push_back(std::make_unique<User>(n, site, time, slurm, day, waits));
    people.back()->live(end);
  }
  while (day.broken.size() < kEnoughBroken && time.step(over)) {
  }
  if (day.broken.size() < kEnoughBroken) {
    for (const auto& user : people) user->check_over();
  }
  for (auto& [name, of_class] : waits) {
    day.classes[name].median_wait = part_of(of_class, 50);
    day.classes[name].wait_95 = part_of(of_class, 95);
  }
  return day;
}

}  // namespace pounce::policy_simulator
