// pouncectl: the admin's and user's command line. This file knows the words; each command has a file of its own.
#include <CLI/CLI.hpp>

#include "pouncectl/commands.h"

namespace {

constexpr char kFooter[] =
    "Examples:\n"
    "  pouncectl status            the daemon on this machine and its leases\n"
    "  pouncectl queue --json      your jobs of pounce as Slurm shows them now\n"
    "  pouncectl version --json    which libslurm is loaded\n"
    "Exit codes: 0 fine, 1 the command failed, 2 wrong usage, 3 no pounced runs here.";

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Look after pounce: leases, workers, the daemon.");
  app.footer(kFooter);
  app.require_subcommand(1);
  bool json = false;
  int (*command)(bool) = nullptr;
  const auto add = [&](const char* name, const char* meaning, int (*run)(bool)) {
    CLI::App* sub = app.add_subcommand(name, meaning);
    sub->add_flag("--json", json, "print one JSON document");
    sub->callback([&command, run] { command = run; });
  };
  add("status", "the daemon of this machine: leases, sessions, what waits", pounce::ctl::status);
  add("queue", "your jobs of pounce as Slurm shows them now", pounce::ctl::queue);
  add("version", "versions of pounce, its protocol and the libslurm loaded", pounce::ctl::version);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? pounce::ctl::kOk : pounce::ctl::kUsage;
  }
  return command(json);
}
