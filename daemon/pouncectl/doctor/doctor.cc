// pouncectl doctor: what is wrong here, each line with the exact fix.

#include "pouncectl/doctor/doctor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/process.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "pouncectl/commands.h"
#include "pouncectl/output.h"

namespace pounce::ctl {

std::vector<Check> checks() {
  using std::chrono::seconds;
  constexpr std::string_view kFiles = "A file system hangs: ask the admin whether the home's file server answers.";
  constexpr std::string_view kSlurm = "Slurm hangs: ask the admin whether slurmctld and slurmdbd answer.";
  return {
      {"programs", check_programs, seconds(15), kFiles},
      {"Python", check_python, seconds(60), "Importing pounce hangs: try it in that Python yourself."},
      {"configuration", check_configuration, seconds(45), kSlurm},
      {"policy", check_policy, seconds(15), kFiles},
      {"state folder", check_state_folder, seconds(15), kFiles},
      {"old folders", check_old_folders, seconds(15), kFiles},
      {"runtime folder", check_runtime_folder, seconds(15), kFiles},
      {"slurm.conf", check_slurm_conf, seconds(15), kFiles},
      {"libslurm", check_libslurm, seconds(15), kSlurm},
      {"slurmctld", check_slurmctld, seconds(30), kSlurm},
      {"classes", check_classes, seconds(15), kSlurm},
      {"munge", check_munge, seconds(15), "munged hangs: ask the admin to restart it."},
      {"daemon", check_daemon, seconds(20),
       "pounced hangs: end it (its pid is in `pounced ensure --no-start`); running work goes on."},
      {"address", check_address, seconds(15), "A name server hangs: set advertise_address in the configuration."},
      {"clock", check_clock, seconds(15), kFiles},
  };
}

namespace {

using nlohmann::json;

constexpr std::string_view kHealth[] = {"ok", "note", "wrong"};

std::string as_text(const Finding& finding) {
  const json object = {{"health", static_cast<int>(finding.health)},
                       {"text", finding.text},
                       {"fix", finding.fix},
                       {"facts", finding.facts}};
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

Finding from_text(const std::string& text) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object())
    return wrong("the check itself broke", "Report this with the output of: pouncectl doctor --json");
  return {static_cast<Health>(object.value("health", 2)), object.value("text", ""), object.value("fix", ""),
          object.value("facts", Facts{})};
}

// Reads the child's output until it ends; nullopt: the deadline has passed.
std::optional<std::string> said(const UniqueFd& pipe, TimePoint deadline) {
  std::string text;
  char buffer[4096];
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd readable{pipe.get(), POLLIN, 0};
    if (left <= 0 || ::poll(&readable, 1, static_cast<int>(left)) == 0) return std::nullopt;
    const ssize_t n = ::read(pipe.get(), buffer, sizeof buffer);
    if (n <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

// Runs the check in its own process group, so that the processes which it starts are killed with it. A child that
// hangs is not waited for: a dead file server may make it unkillable.
Finding examine(const Check& check, const Facts& facts) {
  auto pipe = make_pipe();
  if (!pipe) return wrong("no pipe could be made", "Close some files: ulimit -n");
  const auto child = start_function(Standing::kOwnGroup, 0, [&] {
    const std::string text = as_text(check.run(facts));
    return ::write(pipe->writer.get(), text.data(), text.size()) < 0 ? 1 : 0;
  });
  pipe->writer.reset();
  if (!child) return wrong(child.error().text, "End some processes: ulimit -u");
  const auto text = said(pipe->reader, Clock::now() + check.patience);
  ::kill(-*child, SIGKILL);
  if (text) wait_for(*child);
  if (!text) return wrong("no answer within " + std::to_string(check.patience.count()) + " s", std::string(check.hung));
  return from_text(*text);
}

bool watched() { return ::isatty(STDOUT_FILENO) != 0; }

void print(const Check& check, const Finding& finding) {
  constexpr Colour kColours[] = {Colour::kGreen, Colour::kYellow, Colour::kRed};
  const auto health = static_cast<std::size_t>(finding.health);
  std::string word(kHealth[health]);
  word.resize(5, ' ');
  std::string name(check.name);
  name.resize(14, ' ');
  if (watched()) std::cout << "\r\033[K";  // overwrites the progress line
  std::cout << coloured(kColours[health], word, STDOUT_FILENO) << "  " << name << "  " << printable(finding.text)
            << '\n';
  if (!finding.fix.empty()) std::cout << "       fix:            " << printable(finding.fix) << '\n';
}

}  // namespace

json doctor_report(const std::string& python, bool shown) {
  Facts facts{{"python", python}};
  json document = {{"checks", json::array()}};
  int wrongs = 0;
  for (const Check& check : checks()) {
    if (shown && watched()) std::cout << "...    " << check.name << std::flush;
    Finding finding = examine(check, facts);
    if (finding.health == Health::kWrong) ++wrongs;
    for (auto& [name, value] : finding.facts) facts[name] = value;
    document["checks"].push_back({{"check", check.name},
                                  {"state", kHealth[static_cast<std::size_t>(finding.health)]},
                                  {"text", finding.text},
                                  {"fix", finding.fix}});
    if (shown) print(check, finding);
  }
  document["wrong"] = wrongs;
  if (shown)
    std::cout << (wrongs == 0 ? "nothing is wrong"
                              : std::to_string(wrongs) + (wrongs == 1 ? " thing is wrong" : " things are wrong"))
              << '\n';
  return document;
}

int doctor(const std::string& python, bool json_wanted) {
  const json document = doctor_report(python, !json_wanted);
  if (json_wanted) print_json(document);
  return document["wrong"] == 0 ? kOk : kFailed;
}

}  // namespace pounce::ctl
