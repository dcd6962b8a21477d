// pouncectl status: this instance's daemon, its notebooks and workers, and why leases wait.
#include <unistd.h>

#include <ctime>
#include <iostream>

#include "model/json.h"
#include "pouncectl/commands.h"
#include "pouncectl/lease_row.h"
#include "pouncectl/output.h"
#include "pouncectl/queries.h"

namespace pounce::ctl {
namespace {

bool serves(const LeaseRow& row) { return row.state == "idle" || row.state == "busy"; }
bool waits(const LeaseRow& row) { return row.waiting > 0 && !serves(row); }

std::string with_class(const Resources& resources) {
  return asks(resources) + (resources.class_name.empty() ? "" : " of " + resources.class_name);
}

std::string line_of(const LeaseRow& row) {
  std::string line = "  " + short_id(row.lease) + "  " + with_class(row.resources) + ", " + row.state + " for " +
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
    print_line(line_of(row));
    if (const std::string reported = reported_of(row); !reported.empty())
      print_line("            it reports " + reported);
    const std::string start = starts(row, std::time(nullptr));
    if (!start.empty()) print_line("            it is expected to start " + start);
    const bool explained = !serves(row) || row.release_asked || row.session.empty() || row.given.differs();
    if (explained) print_line("            " + why(row));
  }
}

void print_pools(const std::vector<LeaseRow>& rows) {
  const std::vector<PoolRow> pools = pool_rows(rows);
  if (!pools.empty()) std::cout << coloured(Colour::kBold, "pools", STDOUT_FILENO) << '\n';
  for (const PoolRow& pool : pools) print_line("  " + with_class(pool.resources) + ": " + line_of(pool));
}

void print_avoided(const std::vector<model::NodeRow>& nodes) {
  for (const model::NodeRow& node : nodes)
    if (node.avoided_until_s > 0)
      print_line("node " + node.node + " is avoided for another " +
                 in_words(static_cast<double>(node.avoided_until_s - std::time(nullptr))) + ": " + node.trouble);
}

void print_status(const model::StatusDocument& status) {
  std::vector<LeaseRow> rows = lease_rows(status);
  print_line("pounced " + status.version + ", pid " + std::to_string(status.pid) + ", on " + status.cluster + " (" +
             status.launcher + "), instance " + status.instance);
  print_line("state in " + status.state_folder);
  if (!status.policy.path.empty()) print_line("policy of " + status.policy.path);
  if (!status.policy.trouble.empty())
    print_line("this policy is not used as it is now, what was known before holds: " + status.policy.trouble);
  if (!status.reconciled) std::cout << "the batch system has not answered yet since the start\n";
  for (const model::ListenerRow& listener : status.listeners)
    if (listener.full)
      std::cout << "its " << listener.name << " listener takes nobody now: it holds " << listener.connections
                << " connections of at most " << listener.most << "; newcomers wait\n";
  for (const model::SessionRow& session : status.sessions)
    print_line("notebook " + short_id(session.session) + ": " + session.directory + " (pid " +
               std::to_string(session.pid) + " on " + session.host + ")");
  if (status.sessions.empty()) std::cout << "no notebook is connected\n";
  print_avoided(status.nodes);
  if (rows.empty()) std::cout << "no leases: nothing waits and nothing is held\n";
  print_pools(rows);
  std::erase_if(rows, is_pool);
  print_leases("waiting", rows, waits);
  print_leases("workers", rows, serves);
  print_leases("on their way", rows, [](const LeaseRow& row) { return !waits(row) && !serves(row); });
}

}  // namespace

int status(bool json) {
  const auto document = ask_status();
  if (!document) return report(document.error(), json);
  if (json)
    print_json(nlohmann::json::parse(*document));
  else
    print_status(model::parse<model::StatusDocument>(*document).value_or(model::StatusDocument{}));
  return kOk;
}

}  // namespace pounce::ctl
