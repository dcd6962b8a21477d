// pouncectl status: the daemon of this instance, its notebooks, its workers, and what waits and why.
#include <unistd.h>

#include <ctime>
#include <iostream>

#include "model/json.h"
#include "pouncectl/commands.h"
#include "pouncectl/daemon_query.h"
#include "pouncectl/error_report.h"
#include "pouncectl/lease_row.h"
#include "pouncectl/style.h"

namespace pounce::ctl {
namespace {

bool serves(const LeaseRow& row) { return row.state == "idle" || row.state == "busy"; }
bool waits(const LeaseRow& row) { return row.waiting > 0 && !serves(row); }

std::string line_of(const LeaseRow& row) {
  std::string line = "  " + short_id(row.lease) + "  " + asks(row.resources) +
                     (row.resources.class_name.empty() ? "" : " of " + row.resources.class_name) + ", " + row.state + " for " +
                     in_words(row.state_s);
  if (row.job != 0) line += ", job " + std::to_string(row.job);
  if (!row.node.empty()) line += " on " + row.node;
  if (!row.devices.empty()) line += " (" + row.devices + ")";
  if (const std::string tasks = tasks_of(row); !tasks.empty()) line += ", tasks: " + tasks;
  return line;
}

void print_leases(const char* head, const std::vector<LeaseRow>& rows, bool (*belongs)(const LeaseRow&)) {
  bool first = true;
  for (const LeaseRow& row : rows) {
    if (!belongs(row)) continue;
    if (std::exchange(first, false)) std::cout << coloured(Colour::kBold, head, STDOUT_FILENO) << '\n';
    std::cout << line_of(row) << '\n';
    const std::string start = starts(row, std::time(nullptr));
    if (!start.empty()) std::cout << "            it is expected to start " << start << '\n';
    if (!serves(row) || row.release_asked || row.session.empty()) std::cout << "            " << why(row) << '\n';
  }
}

void print_status(const model::StatusDocument& status) {
  const std::vector<LeaseRow> rows = lease_rows(status);
  std::cout << "pounced " << status.version << ", pid " << status.pid << ", on " << status.cluster << " (" << status.launcher
            << "), instance " << status.instance << "\nstate in " << status.state_folder << '\n';
  if (!status.policy.path.empty()) std::cout << "policy of " << status.policy.path << '\n';
  if (!status.policy.trouble.empty())
    std::cout << "this policy is not used as it is now, what was known before holds: " << status.policy.trouble << '\n';
  if (!status.reconciled) std::cout << "the batch system has not answered yet since the start\n";
  for (const model::SessionRow& session : status.sessions)
    std::cout << "notebook " << short_id(session.session) << ": " << session.directory << " (pid " << session.pid << " on "
              << session.host << ")\n";
  if (status.sessions.empty()) std::cout << "no notebook is connected\n";
  if (rows.empty()) std::cout << "no leases: nothing waits and nothing is held\n";
  print_leases("waiting", rows, waits);
  print_leases("workers", rows, serves);
  print_leases("on their way", rows, [](const LeaseRow& row) { return !waits(row) && !serves(row); });
}

}  // namespace

int status(bool json) {
  const auto document = ask_status();
  if (!document) return report(document.error(), json);
  if (json)
    std::cout << nlohmann::json::parse(*document).dump(2) << '\n';
  else
    print_status(model::parse<model::StatusDocument>(*document).value_or(model::StatusDocument{}));
  return kOk;
}

}  // namespace pounce::ctl
