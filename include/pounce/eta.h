// When a waiting job is expected to start, and the basis of that estimate. Values only. Thread: any.
#pragma once

#include <cstdint>
#include <string>

#include "pounce/fields.h"

namespace pounce {

struct Eta {
  std::int64_t start_s = 0;             // unix; the median. 0: unknown
  std::int64_t low_s = 0, high_s = 0;   // 80 % interval
  // kQueue: a simulation of the `running` jobs and those `ahead` to their ends. kPlan: the start that Slurm plans.
  // Both use the real lengths of the `seen` jobs of the same kind.
  enum class From : std::uint8_t { kNothing, kQueue, kPlan };
  From from{};
  std::uint32_t running{}, ahead{}, seen{};
  std::string basis{};  // the sentence for these, set where it is shown (src/messages)
  bool known() const { return start_s != 0; }
  bool operator==(const Eta&) const = default;

  static constexpr auto fields() {
    return table(field("start_s", &Eta::start_s, "unix time; as likely earlier as later. 0: nothing can be said"),
                 field("low_s", &Eta::low_s, "four times in five it lies between this"),
                 field("high_s", &Eta::high_s, "and this"),
                 field("basis", &Eta::basis, "what it rests on in words, put by who shows it").only_if_set(),
                 field("from", &Eta::from, "what it rests on: `queue`, the jobs there played to their ends, or `plan`, the start that Slurm plans").only_if_set(),
                 field("running", &Eta::running, "jobs of that queue").only_if_set(),
                 field("ahead", &Eta::ahead, "jobs of it that go first").only_if_set(),
                 field("seen", &Eta::seen, "jobs of its kind whose real length is known").only_if_set());
  }
};

constexpr auto words(Eta::From) { return words_of<Eta::From>({"nothing", "queue", "plan"}, Eta::From::kNothing); }

}  // namespace pounce
