// What a waiting user could request instead, in the cluster's current state. Values only. Thread: any.
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
  std::string option;   // for --or: "a100_3g.20gb", "cpu", "class=lion", "cancel"; empty for "wait"
  Resources resources;  // the resources it would request
  bool now = false;     // there is room for it now
  Eta eta{};            // if there is no room now
  Cause cause{};        // the limit that it would wait for, if any
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
