// A lease's predicted and actual start: a line of the state folder's waits.jsonl, which `pouncectl eta-score` reads.
// Values. Thread: any.
#pragma once

#include <cstdint>
#include <string>

#include "pounce/eta.h"
#include "pounce/fields.h"

namespace pounce::model {

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
