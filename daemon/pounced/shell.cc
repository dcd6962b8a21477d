#include "pounced/shell.h"

#include <pwd.h>
#include <unistd.h>

#include <ctime>

#include "base/face_address.h"
#include "base/log.h"
#include "base/random_id.h"
#include "core/forecast/choices.h"
#include "identity/keys.h"
#include "identity/proof.h"
#include "pounce/version.h"
#include "pounced/endpoint.h"
#include "pounced/home.h"
#include "pounced/queue_rows.h"
#include "pounced/status_document.h"
#include "protocol/codec.h"

namespace pounce::daemon {
namespace {

ProofChecker::Verify verifier(const protocol::EndpointFile& endpoint) {
  if (endpoint.proof == "munge")
    return [socket = endpoint.munge_socket](const identity::Claim& claim, const std::string& proof) {
      return identity::verify_munge_proof(claim, proof, socket, ::geteuid());
    };
  return [path = endpoint.key_file](const identity::Claim& claim, const std::string& proof) {
    return identity::verify_key_file_proof(claim, proof, path);
  };
}

policy::Who this_person() {
  const passwd* entry = ::getpwuid(::geteuid());
  return {home_folder(), entry != nullptr ? entry->pw_name : std::to_string(::geteuid())};
}

// The site's policy is for its cluster: this machine's own processes have none.
SitePolicy site_policy(const Setup& setup) {
  return setup.launcher == LauncherKind::kSlurm ? SitePolicy(setup.config.policy) : SitePolicy("", "");
}

}  // namespace

Shell::Shell(transport::EventLoop& loop, const Setup& setup, ClusterFacts facts, launch::Launcher& launcher)
    : loop_(loop),
      setup_(setup),
      facts_(std::move(facts)),
      launcher_(launcher),
      policy_(site_policy(setup)),
      keys_(identity::make_key_pair()),
      waits_(setup.folders.waits()) {}

Result<std::unique_ptr<Shell>> Shell::open(transport::EventLoop& loop, const Setup& setup, ClusterFacts facts,
                                           launch::Launcher& launcher) {
  std::unique_ptr<Shell> shell(new Shell(loop, setup, std::move(facts), launcher));
  shell->choose_proof();
  if (shell->endpoint_.proof == "key_file")
    if (const auto made = identity::make_key_file(setup.folders.key_file()); !made) return failure(made.error());
  if (const auto opened = shell->open_journal(); !opened) return failure(opened.error());
  if (const auto opened = shell->open_sockets(); !opened) return failure(opened.error());
  shell->wire();
  return shell;
}

// The order of the end: nobody finds us, nobody comes in, nobody is heard, then the rest. Leases are not touched: their
// workers wait for the next daemon.
Shell::~Shell() {
  withdraw_endpoint(setup_.folders.endpoint(), endpoint_);  // 1. not found any more
  door_.reset();                                // 2. no new guest
  if (checker_) loop_.unwatch(proof_watch_);
  checker_.reset();  // 3. the proof thread
  hall_.reset();     // 4. no message; every peer notices
  loop_.unwatch(zap_watch_);
  named_.reset();    // 5. the core, those who speak for it, its timer
  driver_.reset();
  journal_.reset();  // 6. what was written stays
  context_.reset();  // 7. ZeroMQ's thread
}

void Shell::choose_proof() {
  const bool munge = setup_.launcher == LauncherKind::kSlurm && facts_.auth_type == "auth/munge" &&
                     identity::munge_available(facts_.munge_socket);
  endpoint_.proof = munge ? "munge" : "key_file";
  endpoint_.munge_socket = munge ? facts_.munge_socket : "";
  endpoint_.key_file = munge ? "" : setup_.folders.key_file();
  spdlog::info("proof={} launcher={} cluster={} slurm={}", endpoint_.proof, word(setup_.launcher), setup_.place.cluster,
               facts_.version);
}

Result<void> Shell::open_journal() {
  predecessors_ = take_over_predecessors(setup_.folders, setup_.place);
  if (const auto written = write_place(setup_.folders, setup_.place); !written) return written;
  const std::string path = setup_.folders.journal();
  const JournalContent content = read_journal(path);
  if (content.damaged_bytes > 0)
    spdlog::warn("the journal's last {} bytes are damaged: kept as {}; a sweep finds what they told",
                 content.damaged_bytes, set_aside(path));
  for (const Predecessor& predecessor : predecessors_)
    remembered_.insert(remembered_.end(), predecessor.open.begin(), predecessor.open.end());
  remembered_.insert(remembered_.end(), content.records.begin(), content.records.end());
  remembered_ = open_records(remembered_);
  auto journal = Journal::open(path, remembered_);
  if (!journal) return failure(journal.error());
  journal_.emplace(std::move(*journal));
  spdlog::info("journal: {} records of open leases", remembered_.size());
  return {};
}

// One address, never all of them: a door stands only where somebody is expected.
Result<std::string> Shell::address() const {
  if (setup_.launcher == LauncherKind::kLocal) return std::string("127.0.0.1");
  if (!setup_.config.advertise_address.empty()) return setup_.config.advertise_address;
  if (!policy_.now().interface.empty()) return address_of_interface(policy_.now().interface);
  return address_facing(facts_.controller_address);
}

Result<void> Shell::open_sockets() {
  const auto host = address();
  if (!host) return failure(host.error());
  const std::string ports = policy::ports_text(policy_.now());
  const std::string runtime = setup_.folders.runtime, tcp = "tcp://" + *host + ":" + (ports.empty() ? "*" : ports);
  for (const char* name : {"/door", "/hall"}) ::unlink((runtime + name).c_str());  // of a predecessor that died
  context_ = std::make_unique<transport::Context>();
  zap_watch_ = loop_.watch_socket(context_->zap_handle(), [this] { context_->service_zap(); });
  checker_ = std::make_unique<ProofChecker>(verifier(endpoint_));
  proof_watch_ = loop_.watch_fd(checker_->fd(), [this] { checker_->on_readable(); });
  const auto heartbeat = setup_.config.times.heartbeat;
  auto hall = Hall::open(loop_, *context_, keys_, {"ipc://" + runtime + "/hall", tcp}, heartbeat,
                         ::geteuid(), books_.guests);
  if (!hall) return failure(hall.error());
  hall_ = std::move(*hall);
  const auto proof = endpoint_.proof == "munge" ? protocol::Proof::kMunge : protocol::Proof::kKeyFile;
  DoorPlan plan{{"ipc://" + runtime + "/door", tcp},
                hall_->endpoints(),
                setup_.instance,
                static_cast<std::uint32_t>(heartbeat.count()),
                ::geteuid()};
  auto door = Door::open(loop_, *context_, keys_, std::move(plan), Reception(keys_.public_key, proof, ::geteuid()),
                         books_.guests, *checker_);
  if (!door) return failure(door.error());
  door_ = std::move(*door);
  return {};
}

void Shell::wire() {
  books_.uses.open(setup_.folders.usage(), facts_.default_class);
  endpoint_.instance = setup_.instance.hex();
  endpoint_.cluster = setup_.place.cluster;
  endpoint_.pid = static_cast<std::uint32_t>(::getpid());
  endpoint_.uid = ::geteuid();
  endpoint_.key = transport::to_z85(keys_.public_key);
  endpoint_.door = door_->endpoints();
  endpoint_.launcher = word(setup_.launcher);
  endpoint_.version = kVersion;
  endpoint_.log = setup_.folders.log();
  endpoint_.results = setup_.folders.results();
  for (const ClassLimits& one : facts_.classes) endpoint_.classes.push_back(class_of_qos(policy_.now(), one.name));

  wire_core();
  ClientDesk::Answers answers{
      [this](const PublicKey& asker, std::uint32_t request) { answer_queue(asker, request); },
      [this](const PublicKey& asker, const protocol::ClassesAsk& question) { answer_classes(asker, question); },
      [this] {
        policy_.look();
        return status_document({setup_, facts_, books_, policy_}, driver_->core(), Clock::now());
      }};
  clients_ = std::make_unique<ClientDesk>(books_, *driver_, *hall_, *named_, setup_.notice, std::move(answers));
  workers_ = std::make_unique<WorkerDesk>(books_, *driver_, *hall_, *named_);
  hall_->on_message([this](Guest& guest, const protocol::Header& header, bool back) {
    if (std::holds_alternative<protocol::Demand>(header)) policy_.look();
    if (guest.role == protocol::Role::kClient)
      clients_->hear(guest, header, back);
    else
      workers_->hear(guest, header);
  });
}

void Shell::wire_core() {
  policy_.on_change([this] { driver_->tell(lease::TimesChanged{times_under(policy_.now(), setup_.config)}); });
  driver_ = std::make_unique<CoreDriver>(
      loop_, lease::LeaseCore(setup_.instance, times_under(policy_.now(), setup_.config), [] { return random_id<LeaseId>(); }));
  OrderContext context;
  context.instance = setup_.instance;
  context.end_daemon = [this] { loop_.stop(); };
  for (const Predecessor& predecessor : predecessors_) context.predecessors.push_back(predecessor.instance);
  context.stand_in = setup_.launcher == LauncherKind::kLocal && setup_.config.stand_in_gpus > 0;
  context.folders = setup_.folders;
  const JobMaker::Site site{setup_.instance, setup_.launcher == LauncherKind::kSlurm, !facts_.classes.empty(), this_person()};
  jobs_ = std::make_unique<JobMaker>(
      site, WorkerPlan{setup_.config.pounce_worker, endpoint_, setup_.folders, setup_.config.times, context.stand_in},
      policy_, launcher_, *driver_);
  orders_ = std::make_unique<Orders>(std::move(context), books_, *hall_, *journal_, launcher_, *driver_, *jobs_, policy_);
  named_ = std::make_unique<NamedTasks>(named_setup(), loop_, books_, *driver_, *hall_);
  driver_->start([this](const lease::Action& action) {
    waits_.hear(action, std::time(nullptr));
    if (!named_->take(action)) orders_->carry_out(action);
  });
}

NamedSetup Shell::named_setup() const {
  NamedSetup setup{{setup_.instance.hex()}, setup_.instance.hex(), setup_.folders.results(), setup_.config.times.result_keep,
                   setup_.config.times.result_hold, setup_.config.times.orphan_grace};
  for (const Predecessor& predecessor : predecessors_) setup.instances.insert(predecessor.instance.hex());
  return setup;
}

Result<void> Shell::start() {
  driver_->tell(lease::JournalRead{std::move(remembered_)});
  named_->restore();
  for (const Predecessor& predecessor : predecessors_)
    if (const auto told = publish_endpoint(predecessor.folders.endpoint(), endpoint_); !told)
      spdlog::warn("workers of {} cannot be told where we are: {}", predecessor.instance.hex(), told.error().text);
  return publish_endpoint(setup_.folders.endpoint(), endpoint_);
}

void Shell::answer_classes(const PublicKey& asker, const protocol::ClassesAsk& question) {
  if (question.compare)
    return launcher_.survey(question.asks.not_nodes, [this, asker, question](Result<Survey> survey) {
      say_classes(asker, question, survey);
    });
  launcher_.classes([this, asker, question](Result<ClassReport> report) {
    say_classes(asker, question, report.map([](ClassReport& use) { return Survey{{}, std::move(use), {}, {}}; }));
  });
}

void Shell::say_classes(const PublicKey& asker, const protocol::ClassesAsk& question, Result<Survey> survey) {
  Guest* guest = books_.guests.find(asker);
  if (guest == nullptr) return;
  protocol::ClassesIs answer;
  answer.request = question.request;
  answer.launcher = word(setup_.launcher);
  policy_.look();
  if (survey) {
    ClassReport& report = survey->use;
    in_words_of(policy_.now(), report);
    answer.classes = report.classes, answer.gpus = report.gpus;
    answer.cpus_free = report.cpus_free, answer.cpu_eta = report.cpu_eta;
    const auto has_room = [&](const Resources& asks) { return daemon::has_room(policy_.now(), *survey, asks); };
    if (question.compare) answer.choices = forecast::choices(question.asks, question.limit, question.eta, report, has_room);
  } else {
    answer.error = survey.error();
  }
  hall_->send(*guest, answer);
}

void Shell::answer_queue(const PublicKey& asker, std::uint32_t request) {
  launcher_.queue([this, asker, request](Result<std::vector<JobView>> views) {
    Guest* guest = books_.guests.find(asker);
    if (guest == nullptr) return;
    if (views)
      for (JobView& view : *views) view.class_name = class_of(policy_.now(), view);
    protocol::QueueIs answer = queue_rows(views);
    answer.request = request;
    answer.launcher = word(setup_.launcher);
    hall_->send(*guest, answer);
  });
}

}  // namespace pounce::daemon
