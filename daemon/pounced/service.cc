#include "pounced/service.h"

#include <pwd.h>
#include <unistd.h>

#include <ctime>

#include "base/log.h"
#include "base/random_id.h"
#include "core/forecast/choices.h"
#include "pounced/leases/status_document.h"
#include "pounced/startup/folders.h"

namespace pounce::daemon {
namespace {

policy::Who this_user() {
  const passwd* entry = ::getpwuid(::geteuid());
  return {home_folder(), entry != nullptr ? entry->pw_name : std::to_string(::geteuid())};
}

// The site's policy applies to its cluster only; the local launcher has none.
SitePolicy site_policy(const Setup& setup) {
  return setup.launcher == LauncherKind::kSlurm ? SitePolicy(setup.config.policy) : SitePolicy("", "");
}

}  // namespace

Service::Service(transport::EventLoop& loop, const Setup& setup, ClusterFacts facts, launch::Launcher& launcher)
    : loop_(loop),
      setup_(setup),
      facts_(std::move(facts)),
      launcher_(launcher),
      policy_(site_policy(setup)),
      waits_(setup.folders.waits()) {}

Result<std::unique_ptr<Service>> Service::open(transport::EventLoop& loop, const Setup& setup, ClusterFacts facts,
                                               launch::Launcher& launcher) {
  std::unique_ptr<Service> self(new Service(loop, setup, std::move(facts), launcher));
  if (const auto opened = self->open_journal(); !opened) return failure(opened.error());
  return self;
}

Result<void> Service::open_journal() {
  if (const auto written = write_scope(setup_.folders, setup_.scope); !written) return written;
  const std::string path = setup_.folders.journal();
  const JournalContent content = read_journal(path);
  previous_instances_ = take_over_previous_instances(setup_.folders, setup_.scope, content.records);
  if (content.damaged_bytes > 0)
    spdlog::warn("the journal's last {} bytes are damaged: kept as {}; a reconciliation finds what they told",
                 content.damaged_bytes, set_aside(path));
  for (const PreviousInstance& previous_instance : previous_instances_)
    remembered_.insert(remembered_.end(), previous_instance.open.begin(), previous_instance.open.end());
  remembered_.insert(remembered_.end(), content.records.begin(), content.records.end());
  remembered_ = open_records(remembered_);
  auto journal = Journal::open(path, remembered_);
  if (!journal) return failure(journal.error());
  journal_.emplace(std::move(*journal));
  spdlog::info("journal: {} records of open leases", remembered_.size());
  return {};
}

void Service::look_after() {
  if (journal_->repair())
    spdlog::warn("the journal had been removed: it is written anew, with the leases that are open");
  clients_->forget_the_gone();
}

void Service::connect(Network network) {
  network_ = std::move(network);
  control_.send_by(network_.send);
  state_.uses.open(setup_.folders.usage(), facts_.default_class);
  wire_core();
  wire_handlers();
}

void Service::start() {
  driver_->tell(lease::JournalRead{std::move(remembered_)});
  detached_->restore();
}

void Service::wire_handlers() {
  ClientHandler::Answers answers{
      [this](const PublicKey& asker, std::uint32_t question) { answer_queue(asker, question); },
      [this](const PublicKey& asker, const protocol::ClassesAsk& question) { answer_classes(asker, question); },
      [this] {
        policy_.look();
        return status_document({setup_, facts_, state_, policy_, network_.listeners()}, driver_->core(), Clock::now());
      }};
  clients_ = std::make_unique<ClientHandler>(state_, *driver_, control_, *detached_, setup_.notice, std::move(answers));
  workers_ = std::make_unique<WorkerHandler>(state_, *driver_, control_, *detached_, *notes_, launcher_,
                                             setup_.config.times.avoid_node);
  control_.on_message([this](Peer& peer, const protocol::Header& header, bool back) {
    if (std::holds_alternative<protocol::Demand>(header)) policy_.look();
    if (peer.role == protocol::Role::kClient)
      clients_->hear(peer, header, back);
    else
      workers_->hear(peer, header);
  });
  control_.on_loss([this](const Peer& peer) {
    if (peer.role == protocol::Role::kWorker) workers_->lost(peer);
  });
}

void Service::wire_core() {
  policy_.on_change([this] { driver_->tell(lease::TimesChanged{times_under(policy_.now(), setup_.config)}); });
  driver_ =
      std::make_unique<CoreDriver>(loop_, lease::LeaseCore(setup_.instance, times_under(policy_.now(), setup_.config),
                                                           [] { return random_id<LeaseId>(); }));
  ActionContext context;
  context.instance = setup_.instance;
  context.end_daemon = [this] { loop_.stop(); };
  for (const PreviousInstance& previous_instance : previous_instances_)
    context.previous_instances.push_back(previous_instance.instance);
  context.stand_in = setup_.launcher == LauncherKind::kLocal && setup_.config.stand_in_gpus > 0;
  context.folders = setup_.folders;
  const JobBuilder::Site site{setup_.instance, setup_.launcher == LauncherKind::kSlurm, !facts_.classes.empty(),
                              this_user()};
  jobs_ = std::make_unique<JobBuilder>(
      site,
      WorkerPlan{setup_.config.pounce_worker, network_.endpoint, setup_.folders, setup_.config.times, context.stand_in},
      policy_, launcher_, *driver_, state_.avoided);
  notes_.emplace(setup_.instance, state_.uses, launcher_);
  executor_ = std::make_unique<ActionExecutor>(std::move(context), state_, control_, *journal_, launcher_, *driver_,
                                               *jobs_, policy_, *notes_);
  detached_ = std::make_unique<DetachedTasks>(detached_setup(), loop_, state_, *driver_, control_);
  walltimes_.emplace(state_.peers, *driver_, control_);
  driver_->start([this](const lease::Action& action) {
    waits_.hear(action, std::time(nullptr));
    walltimes_->hear(action);
    if (!detached_->take(action)) executor_->carry_out(action);
  });
}

DetachedSetup Service::detached_setup() const {
  DetachedSetup setup{{setup_.instance.hex()},         setup_.instance.hex(),           setup_.folders.results(),
                      setup_.folders.checkpoints(),    setup_.config.times.result_keep, setup_.config.times.result_hold,
                      setup_.config.times.orphan_grace};
  for (const PreviousInstance& previous_instance : previous_instances_)
    setup.instances.insert(previous_instance.instance.hex());
  return setup;
}

void Service::answer_classes(const PublicKey& asker, const protocol::ClassesAsk& question) {
  if (question.compare)
    return launcher_.ask(slurm::AskClusterSnapshot{question.asks.not_nodes},
                         [this, asker, question](Result<ClusterSnapshot> cluster_snapshot) {
                           say_classes(asker, question, cluster_snapshot);
                         });
  launcher_.ask(slurm::AskClasses{}, [this, asker, question](Result<ClassReport> report) {
    say_classes(asker, question,
                report.map([](ClassReport& use) { return ClusterSnapshot{{}, std::move(use), {}, {}}; }));
  });
}

void Service::say_classes(const PublicKey& asker, const protocol::ClassesAsk& question,
                          Result<ClusterSnapshot> cluster_snapshot) {
  Peer* peer = state_.peers.find(asker);
  if (peer == nullptr) return;
  protocol::ClassesIs answer;
  answer.question = question.question;
  answer.launcher = word(setup_.launcher);
  policy_.look();
  if (cluster_snapshot) {
    ClassReport& report = cluster_snapshot->use;
    in_words_of(policy_.now(), report);
    answer.classes = report.classes, answer.gpus = report.gpus;
    answer.cpus_free = report.cpus_free, answer.cpu_eta = report.cpu_eta;
    const auto has_room = [&](const Resources& asks) {
      return daemon::has_room(policy_.now(), *cluster_snapshot, asks);
    };
    if (question.compare)
      answer.choices = forecast::choices(question.asks, question.limit, question.eta, report, has_room);
  } else {
    answer.error = cluster_snapshot.error();
  }
  control_.send(*peer, answer);
}

void Service::answer_queue(const PublicKey& asker, std::uint32_t question) {
  launcher_.ask(slurm::AskQueue{}, [this, asker, question](Result<std::vector<JobView>> views) {
    Peer* peer = state_.peers.find(asker);
    if (peer == nullptr) return;
    if (views)
      for (JobView& view : *views) view.class_name = class_of(policy_.now(), view);
    protocol::QueueIs answer = queue_rows(views);
    answer.question = question;
    answer.launcher = word(setup_.launcher);
    control_.send(*peer, answer);
  });
}

}  // namespace pounce::daemon
