// When something that waits is expected to start, and what that rests on; what its user could ask for instead; and
// what is kept of such a statement. Values only. Thread: any.
#pragma once

#include <cstdint>
#include <string>

#include "pounce/cause.h"
#include "pounce/fields.h"
#include "pounce/resources.h"

namespace pounce {

struct Eta {
  std::int64_t start_s = 0;            // unix; the median. 0: unknown
  std::int64_t low_s = 0, high_s = 0;  // 80 % interval
  // kQueue: a simulation of the `running` jobs and those `ahead` to their ends. kPlan: the start that Slurm plans.
  // Both use the real lengths of the `seen` jobs of the same kind.
  enum class From : std::uint8_t { kNothing, kQueue, kPlan };
  From from{};
  std::uint32_t running{}, ahead{}, seen{};
  std::string basis{};  // the sentence for these, set where it is shown (src/messages)
  bool known() const { return start_s != 0; }
  bool operator==(const Eta&) const = default;

  static constexpr auto fields() {
    return table(
        field("start_s", &Eta::start_s, "unix time; as likely earlier as later. 0: nothing can be said"),
        field("low_s", &Eta::low_s, "four times in five it lies between this"),
        field("high_s", &Eta::high_s, "and this"),
        field("basis", &Eta::basis, "what it rests on in words, put by who shows it").only_if_set(),
        field("from", &Eta::from,
              "what it rests on: `queue`, the jobs there played to their ends, or `plan`, the start that Slurm plans")
            .only_if_set(),
        field("running", &Eta::running, "jobs of that queue").only_if_set(),
        field("ahead", &Eta::ahead, "jobs of it that go first").only_if_set(),
        field("seen", &Eta::seen, "jobs of its kind whose real length is known").only_if_set());
  }
};

constexpr auto words(Eta::From) { return words_of<Eta::From>({"nothing", "queue", "plan"}, Eta::From::kNothing); }

// What a user who waits could ask for instead, as the cluster is now.

struct Choice {
  std::string kind;       // "wait", "gpu", "cpu", "class", "cancel"
  std::string option;     // for --or: "a100_3g.20gb", "cpu", "class=lion", "cancel"; empty for "wait"
  Resources resources;    // the resources it would request
  bool now = false;       // there is room for it now
  Eta eta{};              // if there is no room now
  Cause cause{};          // the limit that it would wait for, if any
  std::string against{};  // the sentence for `cause`, set where it is shown (src/messages)

  static constexpr auto fields() {
    return table(field("kind", &Choice::kind, "`wait`, `gpu`, `cpu`, `class`, `cancel`"),
                 field("option", &Choice::option, "as `--or` takes it; of waiting empty"),
                 field("resources", &Choice::resources, "what it asks for then"),
                 field("now", &Choice::now, "there is room for it now"),
                 field("eta", &Choice::eta, "where there is none"),
                 field("cause", &Choice::cause, "the limit that it would wait for").only_if_set(),
                 field("against", &Choice::against, "its sentence, put by who shows it").only_if_set());
  }
};

}  // namespace pounce

namespace pounce::model {

// What was said of when a lease starts, and when it did: a line of the state folder's waits.jsonl, which `pouncectl
// eta-score` reads.

struct StartStatement {
  std::string lease, class_name;
  std::int64_t stated_s = 0;
  Eta eta;
  std::int64_t started_s = 0;

  static constexpr auto fields() {
    return table(field("lease", &StartStatement::lease), field("class", &StartStatement::class_name),
                 field("stated_s", &StartStatement::stated_s), part(&StartStatement::eta),
                 field("started_s", &StartStatement::started_s));
  }
};

}  // namespace pounce::model
