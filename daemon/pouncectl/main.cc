// pouncectl: the command line for users and admins. This file parses it; each command has its own file.
#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>
#include <string>

#include "pouncectl/commands.h"
#include "pouncectl/python.h"

namespace {

using namespace pounce::ctl;

constexpr char kExitCodes[] = "Exit codes: 0 fine, 1 the command failed, 2 wrong usage, 3 no pounced runs here.";

constexpr char kExamples[] =
    "Examples:\n"
    "  pouncectl status              the daemon of this machine: what waits and why, which workers there are\n"
    "  pouncectl leases              every lease in a table\n"
    "  pouncectl nodes               where they are, their GPUs, and whether these are well\n"
    "  pouncectl release 3f2a        give that lease back as soon as it is idle\n"
    "  pouncectl cancel --all        end all that waits and runs\n"
    "  pouncectl logs --follow       what the daemon does now\n"
    "  pouncectl top                 who holds what of the cluster now\n"
    "  pouncectl usage --since 30d   what was held, and how much of it computed\n"
    "  pouncectl parked list         the variables of notebooks that are saved, and how much they take\n"
    "  pouncectl run --gpu 1 -- CMD  a program in a lease\n"
    "  pouncectl setup               make it fit this machine's Slurm\n"
    "  pouncectl rebuild             after Slurm was updated: only the part that is linked to it\n"
    "  pouncectl doctor              what is wrong here, and the fix\n"
    "  pouncectl policy plan FILE    what a policy would change in Slurm (admins)\n"
    "`pouncectl COMMAND --help` has more.\n";

constexpr char kStatusExamples[] =
    "Examples:\n"
    "  pouncectl status\n"
    "  pouncectl status --json | jq '.leases[].history'   what happened to each lease, and when\n";
constexpr char kLeasesExamples[] =
    "Examples:\n"
    "  pouncectl leases\n"
    "  pouncectl leases --json | jq '.leases[] | {lease, slurm_reason}'     Slurm's own word for the wait\n";
constexpr char kNodesExamples[] =
    "Examples:\n"
    "  pouncectl nodes                           where the leases are, their GPUs, and which nodes are avoided\n"
    "  pouncectl nodes --json | jq '.nodes[] | select(.avoided_until_s) | {node, trouble}'\n";
constexpr char kWhyExamples[] =
    "Examples:\n"
    "  pouncectl why                             all that waits: the reason, the place in line, the expected start\n"
    "  pouncectl why 3f2a --json | jq '.leases[].limit'     the limit that it waits for, and how much of it is used\n";
constexpr char kScoreExamples[] =
    "Examples:\n"
    "  pouncectl eta-score\n"
    "  pouncectl eta-score --json | jq .coverage     the share of waits that ended inside the stated interval\n"
    "Works without a running daemon too.\n";
constexpr char kReleaseExamples[] =
    "Examples:\n"
    "  pouncectl release 3f2a                    as soon as it is idle: its tasks come first\n"
    "  pouncectl release 3f2a 90bc --now         now: their tasks end with LeaseEnded\n"
    "  pouncectl release --all                   each as soon as it is idle\n"
    "LEASE is the beginning of an id that `pouncectl leases` shows.\n";
constexpr char kCancelExamples[] =
    "Examples:\n"
    "  pouncectl cancel 3f2a                     its tasks, waiting or running, end with JobCancelled\n"
    "  pouncectl cancel --session 77d0           all leases of one notebook\n"
    "Tasks that end so are not run again, whatever their retries=.\n";
constexpr char kLogsExamples[] =
    "Examples:\n"
    "  pouncectl logs                            the daemon's log, its last 40 lines\n"
    "  pouncectl logs --lines 500 --follow       more of it, and what comes\n"
    "  pouncectl logs 3f2a                       what that lease's job printed\n"
    "Works without a running daemon too.\n";
constexpr char kQueueExamples[] = "Examples:\n  pouncectl queue\n  pouncectl queue --json\n";
constexpr char kClassesExamples[] =
    "Examples:\n"
    "  pouncectl classes\n"
    "  pouncectl classes --json | jq '.gpus[] | select(.free > 0)'     which GPUs are free\n";
constexpr char kTopExamples[] =
    "Examples:\n"
    "  pouncectl top\n"
    "  pouncectl top --watch 5                   again every 5 seconds, until interrupted\n"
    "  pouncectl top --json | jq '.jobs[] | select(.gpus != {})'\n"
    "Asks Slurm itself, so it works without a running daemon and for root. One look is a handful of requests to "
    "slurmctld.\n";
constexpr char kReportExamples[] =
    "Examples:\n"
    "  pouncectl report                          each lease of this daemon, the ended ones too\n"
    "  pouncectl report 3f2a\n";
constexpr char kParkedExamples[] =
    "Examples:\n"
    "  pouncectl parked list                     the saved variables of your notebooks, the newest first\n"
    "  pouncectl parked rm 3f2a 90bc             those two; it asks first\n"
    "  pouncectl parked rm --older 7d --yes      what was not used for a week, without a question\n"
    "  pouncectl parked rm --all\n"
    "Works without a running daemon too. `%pounce restore` in a notebook brings saved variables back.\n";
constexpr char kVersionExamples[] =
    "Examples:\n"
    "  pouncectl version\n"
    "  pouncectl version --json | jq -r .libslurm     which libslurm is loaded\n";
constexpr char kSetupExamples[] =
    "Examples:\n"
    "  pouncectl setup                               a pounce-slurm for the Slurm of this machine, found or built\n"
    "  pouncectl setup --slurm /opt/slurm            where Slurm was installed; unset: beside its commands, then the "
    "usual folders\n"
    "  pouncectl setup --headers ~/slurm-headers     the folder that has slurm/slurm.h\n"
    "  pouncectl setup --rebuild                     also where one that fits is there\n"
    "  CXX=/opt/gcc/bin/g++ pouncectl setup          with that compiler; it must know C++20 (GCC 11 or newer)\n"
    "Needs no root: what is built goes into the installation where you may write it, else into "
    "~/.local/share/pounce.\n";
constexpr char kRebuildExamples[] =
    "Examples:\n"
    "  pouncectl rebuild                                   pounce-slurm for the Slurm of this machine, as it is now\n"
    "  pouncectl rebuild --slurm-prefix /opt/slurm/25.11   where that Slurm was installed\n"
    "  pouncectl rebuild --headers ~/slurm-headers         the folder that has slurm/slurm.h\n"
    "Needs no root, and says where it put it: into the installation where you may write it, else into "
    "~/.local/share/pounce.\n";
constexpr char kDoctorExamples[] =
    "Examples:\n"
    "  pouncectl doctor\n"
    "  pouncectl doctor --json | jq '.checks[] | select(.state == \"wrong\")'\n"
    "  pouncectl doctor --python ~/env/bin/python     the Python that your notebooks run\n"
    "Exit codes: 0 nothing is wrong, 1 something is, 2 wrong usage.";

constexpr char kPolicyExamples[] =
    "Examples:\n"
    "  pouncectl policy check site.json                    is the file a policy?\n"
    "  pouncectl policy plan site.json                     what it would change in Slurm\n"
    "  pouncectl policy apply site.json --note 'term'      change it; only an Administrator of Slurm may\n"
    "  pouncectl policy rollback                           as it was before the last apply\n"
    "  pouncectl policy simulate site.json --users 50      waits and limits of a simulated day; asks no Slurm\n"
    "  pouncectl policy export > site.json                 today's QoS as a policy\n"
    "  pouncectl policy explain --request '{\"gpus\": 1, \"time\": \"20min\"}' site.json     what it makes of that, "
    "and why\n";

struct Words {
  CLI::App app{"Look after pounce: leases, workers, the daemon."};
  bool json = false;
  std::function<int()> chosen;
  ReleaseOptions release;
  LogOptions logs;
  ParkedOptions parked;
  PolicyOptions policy;
  SimulateOptions simulate;
  bool daemon_log = false;
  std::string python;
  SetupOptions setup;
  TopOptions top;
  std::vector<std::string> reported;
  std::vector<std::string> waiting;

  CLI::App* add(const char* name, const char* meaning, const std::string& footer, std::function<int()> run,
                CLI::App* below = nullptr) {
    CLI::App* sub = (below != nullptr ? below : &app)->add_subcommand(name, meaning);
    sub->add_flag("--json", json, "print one JSON document");
    sub->footer(footer);
    sub->callback([this, run] { chosen = run; });
    return sub;
  }
};

// Requires exactly one way to choose leases.
void add_choice(CLI::App* sub, Words& words, bool by_session) {
  CLI::Option_group* which = sub->add_option_group("which");
  which->add_option("LEASE", words.release.leases, "the beginning of a lease's id");
  which->add_flag("--all", words.release.all, "every lease of this daemon");
  if (by_session) which->add_option("--session", words.release.session, "the leases of the session with this id");
  which->require_option(1);
}

void add_parked(Words& words) {
  const std::string footer = std::string(kParkedExamples) + kExitCodes;
  CLI::App* parked = words.app.add_subcommand("parked", "the saved variables of your notebooks");
  parked->footer(footer);
  parked->require_subcommand(1);
  words.add("list", "what is saved: notebook, size, names", footer, [&] { return parked_list(words.json); }, parked);
  CLI::App* rm = words.add(
      "rm", "remove some of it, for good", footer, [&] { return parked_rm(words.parked, words.json); }, parked);
  CLI::Option_group* which = rm->add_option_group("which");
  which->add_option("ID", words.parked.ids, "the beginning of an id");
  which->add_option("--older", words.parked.older, "what was not used for so long: 7d, 12h, 90min");
  which->add_flag("--all", words.parked.all, "all of them");
  which->require_option(1);
  rm->add_flag("--yes,-y", words.parked.yes, "do not ask");
}

void add_policy(Words& words) {
  const std::string footer = std::string(kPolicyExamples) + kExitCodes;
  CLI::App* policy = words.app.add_subcommand("policy", "the classes of the site: a file, and the QoS in Slurm");
  policy->footer(footer);
  policy->require_subcommand(1);
  const auto add = [&](const char* name, const char* meaning, std::function<int()> run, bool file, bool state) {
    CLI::App* sub = words.add(name, meaning, footer, std::move(run), policy);
    if (file) sub->add_option("FILE", words.policy.file, "a policy (docs/policy.md)")->required();
    if (state)
      sub->add_option("--state", words.policy.state, "the folder where applies are recorded")->capture_default_str();
    return sub;
  };
  add("check", "is the file a policy?", [&] { return policy_check(words.policy, words.json); }, true, false);
  add("plan", "what the file would change in Slurm", [&] { return policy_plan(words.policy, words.json); }, true, true);
  add(
      "apply", "make the QoS in Slurm as the file says", [&] { return policy_apply(words.policy, words.json); }, true,
      true)
      ->add_option("--note", words.policy.note, "why, for the record");
  add("export", "today's QoS as a policy file", [&] { return policy_export(words.json); }, false, false);
  CLI::App* why = add(
      "explain", "which class, QoS and GPU type a request gets, and why",
      [&] { return policy_explain(words.policy, words.json); }, false, false);
  why->add_option("FILE", words.policy.file, "a policy; unset: the one that pounced reads here");
  why->add_option("--request", words.policy.request, "the options of Client.options, as a JSON object")
      ->capture_default_str();
  why->add_flag("--here", words.policy.here, "ask Slurm what is open to you and free now, as pounced does");
  CLI::App* simulate = add(
      "simulate", "a day under this policy: waits, limits, idle GPUs; asks no Slurm",
      [&] { return policy_simulate(words.simulate, words.json); }, false, false);
  simulate->add_option("FILE", words.simulate.file, "a policy (docs/policy.md)")->required();
  simulate->add_option("--users", words.simulate.users, "people")->check(CLI::Range(1, 10'000))->capture_default_str();
  simulate->add_option("--hours", words.simulate.hours, "of the day")
      ->check(CLI::Range(1, 24 * 31))
      ->capture_default_str();
  simulate->add_option("--nodes", words.simulate.nodes, "of the cluster")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  simulate->add_option("--gpus", words.simulate.gpus, "of each node")->check(CLI::Range(0, 64))->capture_default_str();
  simulate->add_option("--seed", words.simulate.seed, "the same seed is the same day")->capture_default_str();
  add(
      "rollback", "the QoS as they were before the last apply",
      [&] { return policy_rollback(words.policy, words.json); }, false, true)
      ->add_option("--note", words.policy.note, "why, for the record");
}

// The options that setup and rebuild share.
void add_places(CLI::App* sub, SetupOptions& options) {
  sub->add_option("--slurm,--slurm-prefix", options.slurm, "the folder that Slurm was installed into")
      ->check(CLI::ExistingDirectory);
  sub->add_option("--headers", options.headers, "the folder that has slurm/slurm.h")->check(CLI::ExistingDirectory);
  sub->add_flag("--user", options.own, "into your own folder, even where you may write the installation's");
}

void add_rebuild(Words& words, const std::string& footer) {
  add_places(words.add("rebuild", "build pounce-slurm, the part that is linked to Slurm, and nothing else", footer,
                       [&] { return rebuild(words.setup, words.json); }),
             words.setup);
}

void add_setup(Words& words, const std::string& footer) {
  CLI::App* sub = words.add("setup", "make pounce fit this machine's Slurm, and say what is wrong here", footer,
                            [&] { return setup(words.setup, words.json); });
  add_places(sub, words.setup);
  sub->add_flag("--rebuild", words.setup.rebuild, "build one also where one that fits is there");
  sub->add_option("--python", words.setup.python, "the Python to look at; unset: the one beside this program");
}

void describe(Words& words) {
  const std::string codes = kExitCodes;
  words.app.footer(kExamples + codes);
  words.app.require_subcommand(1);
  words.add("status", "the daemon of this machine: what waits and why, workers, notebooks", kStatusExamples + codes,
            [&] { return status(words.json); });
  words.add("leases", "a table of this daemon's leases", kLeasesExamples + codes, [&] { return leases(words.json); });
  words.add("nodes", "the nodes of leases, what their GPUs are and how they do, and nodes that are avoided",
            kNodesExamples + codes, [&] { return nodes(words.json); });
  words
      .add("why", "why something waits, and what ends the wait", kWhyExamples + codes,
           [&] { return explain(words.waiting, words.json); })
      ->add_option("LEASE", words.waiting, "the beginning of a lease's id; none: all that wait");
  words.add("eta-score", "how good the estimates of a start were: error, and whether the interval held",
            kScoreExamples + codes, [&] { return eta_score(words.json); });
  CLI::App* give = words.add("release", "give leases back, as soon as they are idle or now", kReleaseExamples + codes,
                             [&] { return release(words.release, words.json); });
  add_choice(give, words, false);
  give->add_flag("--now", words.release.now, "do not wait for their tasks");
  CLI::App* stop = words.add("cancel", "end what waits for leases and runs on them, and give them back",
                             kCancelExamples + codes, [&] { return cancel(words.release, words.json); });
  add_choice(stop, words, true);
  CLI::App* log = words.add("logs", "the daemon's log, or that of a lease's job", kLogsExamples + codes,
                            [&] { return logs(words.logs, words.json); });
  CLI::Option* lease =
      log->add_option("LEASE", words.logs.lease, "the beginning of a lease's id; none: the daemon's log");
  log->add_flag("--daemon", words.daemon_log, "the daemon's log")->excludes(lease);
  log->add_option("--lines", words.logs.lines, "so many of the last ones")->check(CLI::Range(0, 1'000'000));
  log->add_flag("--follow,-f", words.logs.follow, "and what comes, until interrupted")->excludes("--json");
  words.add("queue", "your jobs of pounce as Slurm shows them now", kQueueExamples + codes,
            [&] { return queue(words.json); });
  add_parked(words);
  add_policy(words);
  words.add("classes", "what you may use now: time, jobs and GPUs of each class, free GPUs", kClassesExamples + codes,
            [&] { return classes(words.json); });
  words
      .add("top", "who holds what of the cluster now, free GPUs, and how much waits", kTopExamples + codes,
           [&] { return top(words.top, words.json); })
      ->add_option("--watch", words.top.every, "look again every so many seconds")
      ->check(CLI::Range(2, 3600));
  words
      .add("report", "what leases used of what they asked for, with a suggestion", kReportExamples + codes,
           [&] { return use_report(words.reported, words.json); })
      ->add_option("LEASE", words.reported, "the beginning of a lease's id; none: all that are known");
  for (const PythonCommand& command : python_commands()) words.app.add_subcommand(command.name, command.meaning);
  words.app.add_subcommand("accounting")->group("")->callback([&] { words.chosen = accounting; });  // not in --help
  words
      .add("doctor", "what is wrong here, each line with the exact fix", kDoctorExamples,
           [&] { return doctor(words.python, words.json); })
      ->add_option("--python", words.python, "the Python to look at; unset: the one beside this program");
  words
      .add("version", "versions of pounce and of all that it has loaded", kVersionExamples + codes,
           [&] { return version(words.python, words.json); })
      ->add_option("--python", words.python, "the Python to look at; unset: the one beside this program");
  add_setup(words, kSetupExamples + codes);
  add_rebuild(words, kRebuildExamples + codes);
}

}  // namespace

int main(int argc, char** argv) {
  for (const PythonCommand& command : python_commands())
    if (argc > 1 && argv[1] == command.name) return become_python(command, {argv + 2, argv + argc});
  Words words;
  try {
    describe(words);
    words.app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const std::string unknown = error.get_exit_code() == 0 ? "" : unknown_word(words.app, {argv + 1, argv + argc});
    if (unknown.empty()) return words.app.exit(error) == 0 ? kOk : kUsage;
    std::cerr << unknown;
    return kUsage;
  }
  return words.chosen();
}
