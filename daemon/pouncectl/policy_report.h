// The output of `pouncectl policy plan`, apply and rollback: a table for people, a document for programs. Pure.
// Thread: any.
#pragma once

#include <string>
#include <vector>

#include "policy/plan.h"

namespace pounce::ctl {

struct PolicyReport {
  std::string cluster;
  bool has_database = true;
  policy::Plan plan;
  std::vector<policy::RuleChange> drift;  // others' changes since the last apply
  std::string last_apply;                 // "2026-01-31T12:00:00Z by root"
  std::vector<std::string> not_enforced, missing_partitions;
};

std::string report_text(const PolicyReport& report);
std::string report_json(const PolicyReport& report);

}  // namespace pounce::ctl
