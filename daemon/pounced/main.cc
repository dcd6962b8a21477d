// pounced: the scheduler daemon of one user on one machine. This file parses the command line; ensure.cc, serve.cc
// and ensure.cc implement the subcommands.
#include <CLI/CLI.hpp>
#include <iostream>

#include "pounce/version.h"
#include "pounced/startup/commands.h"
#include "protocol/codec.h"
#include "protocol/state_files.h"

namespace {

constexpr char kFooter[] =
    "Examples:\n"
    "  pounced ensure                     the endpoint of this machine's daemon, started if need be\n"
    "  pounced ensure --launcher local    the same without Slurm\n"
    "  pounced serve --config test.json   run the daemon in the foreground\n"
    "Exit codes: 0 fine, 1 an error (told as JSON on standard output by ensure and where), 2 wrong usage.";

constexpr int kFailed = 1, kUsage = 2;

int ensure(const pounce::daemon::CommandLine& command, bool start) {
  const auto endpoint = pounce::daemon::ensure_daemon(command, start);
  if (endpoint)
    std::cout << pounce::protocol::encode_endpoint_file(*endpoint) << std::endl;
  else
    std::cout << "{\"error\":" << pounce::protocol::encode_error(endpoint.error()) << "}" << std::endl;
  return endpoint ? 0 : kFailed;
}

int where(const pounce::daemon::CommandLine& command, bool folders) {
  const auto found = pounce::daemon::whereabouts(command, folders);
  std::cout << found.document << std::endl;
  return found.fine ? 0 : kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("The daemon of pounce: leases workers from Slurm for this user's notebooks.");
  app.footer(kFooter);
  app.set_version_flag("--version", std::string("pounced ") + pounce::kVersion);
  app.require_subcommand(1);
  pounce::daemon::CommandLine command;
  bool detached = false, no_start = false, folders = false;
  CLI::App* ensure_words =
      app.add_subcommand("ensure", "print the endpoint of the live daemon as JSON; start one if none lives");
  CLI::App* serve_words = app.add_subcommand("serve", "be the daemon");
  CLI::App* where_words = app.add_subcommand("where", "print what a start here would use, as JSON; start nothing");
  for (CLI::App* words : {ensure_words, serve_words, where_words}) {
    words->add_option("--config", command.config, "the configuration file");
    words->add_option("--launcher", command.launcher, "slurm or local; unset: slurm where there is one");
  }
  where_words->add_flag("--folders", folders, "and which folders of other daemons there are");
  ensure_words->add_flag("--no-start", no_start, "only look; never start one");
  serve_words->add_option("--outer-job", command.outer_job, "the Slurm job we run in; unset: by SLURM_JOB_ID");
  serve_words->add_option("--state-folder", command.state_folder, "what ensure chose, where none is configured");
  serve_words->add_flag("--detached", detached, "started by ensure: report on descriptor 3, log to the state folder");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  if (ensure_words->parsed()) return ensure(command, !no_start);
  if (where_words->parsed()) return where(command, folders);
  return pounce::daemon::serve(command, detached);
}
