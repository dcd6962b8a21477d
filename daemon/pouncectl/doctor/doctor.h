// The doctor's checks. A check is a question with one answer, and the exact fix where the answer is bad. Checks run in
// the order of checks(), each in a process of its own with a deadline, so that none of them can hang or end the doctor;
// what a later check needs from an earlier one travels in Facts. Thread: main.
#pragma once

#include <chrono>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace pounce::ctl {

using Facts = std::map<std::string, std::string>;

enum class Health { kOk, kNote, kWrong };  // kNote: needs no repair, but is good to know

struct Finding {
  Health health = Health::kOk;
  std::string text, fix;
  Facts facts;
};

struct Check {
  std::string_view name;
  Finding (*run)(const Facts& facts);
  std::chrono::seconds patience{15};
  std::string_view hung;  // the fix if it does not answer in time
};

std::vector<Check> checks();

inline Finding fine(std::string text, Facts facts = {}) { return {Health::kOk, std::move(text), {}, std::move(facts)}; }
inline Finding note(std::string text, Facts facts = {}) {
  return {Health::kNote, std::move(text), {}, std::move(facts)};
}
inline Finding wrong(std::string text, std::string fix, Facts facts = {}) {
  return {Health::kWrong, std::move(text), std::move(fix), std::move(facts)};
}
inline std::string fact(const Facts& facts, const std::string& name) {
  const auto found = facts.find(name);
  return found == facts.end() ? std::string() : found->second;
}

// checks_here.cc: this machine
Finding check_programs(const Facts& facts);
Finding check_python(const Facts& facts);
Finding check_configuration(const Facts& facts);
Finding check_policy(const Facts& facts);
Finding check_state_folder(const Facts& facts);
Finding check_old_folders(const Facts& facts);
Finding check_runtime_folder(const Facts& facts);
Finding check_clock(const Facts& facts);
// checks_slurm.cc
Finding check_slurm_conf(const Facts& facts);
Finding check_libslurm(const Facts& facts);
Finding check_slurmctld(const Facts& facts);
Finding check_classes(const Facts& facts);
Finding check_munge(const Facts& facts);
// checks_daemon.cc
Finding check_daemon(const Facts& facts);
Finding check_address(const Facts& facts);

// {"checks": [{"check", "state", "text", "fix"}], "wrong": count}. python: the interpreter to check; empty: the one
// beside this program. shown: prints each finding when it is known, and at the end the number of faults.
nlohmann::json doctor_report(const std::string& python, bool shown);

}  // namespace pounce::ctl
