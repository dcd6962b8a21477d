// What a user who waits could ask for instead, as the cluster is now. Values only. Thread: any.
#pragma once

#include <cstdint>
#include <string>

#include "pounce/cause.h"
#include "pounce/eta.h"
#include "pounce/fields.h"
#include "pounce/resources.h"

namespace pounce {

struct Choice {
  std::string kind;     // "wait", "gpu", "cpu", "class", "cancel"
  std::string option;   // as --or takes it: "a100_3g.20gb", "cpu", "class=lion", "cancel"; of waiting empty
  Resources resources;  // what it asks for then
  bool now = false;     // there is room for it now
  Eta eta{};            // where there is none
  Cause cause{};        // the limit that it would wait for; none: none
  std::string against{};  // its sentence, put by who shows it (src/messages)

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
