#include "pounced/daemon.h"

#include <pwd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ctime>

#include "base/face_address.h"
#include "base/log.h"
#include "base/random_id.h"
#include "core/forecast/choices.h"
#include "identity/key_pair.h"
#include "identity/proof.h"
#include "pounce/version.h"
#include "pounced/leases/queue_rows.h"
#include "pounced/leases/status_document.h"
#include "pounced/net/endpoint.h"
#include "pounced/startup/home.h"
#include "protocol/codec.h"

namespace pounce::daemon {
namespace {

const std::string kIpc = "ipc://";

ProofChecker::Verify verifier(const protocol::EndpointFile& endpoint) {
  if (endpoint.proof == "munge")
    return [socket = endpoint.munge_socket](const identity::Claim& claim, const std::string& proof) {
      return identity::verify_munge_proof(claim, proof, socket, ::geteuid());
    };
  return [path = endpoint.key_file](const identity::Claim& claim, const std::string& proof) {
    return identity::verify_key_file_proof(claim, proof, path);
  };
}

std::size_t descriptor_limit() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  return files.rlim_cur;
}

policy::Who this_user() {
  const passwd* entry = ::getpwuid(::geteuid());
  return {home_folder(), entry != nullptr ? entry->pw_name : std::to_string(::geteuid())};
}

// The site's policy is for its cluster: this machine's own processes have none.
SitePolicy site_policy(const Setup& setup) {
  return setup.launcher == LauncherKind::kSlurm ? SitePolicy(setup.config.policy) : SitePolicy("", "");
}

}  // namespace

Daemon::Daemon(transport::EventLoop& loop, const Setup& setup, ClusterFacts facts, launch::Launcher& launcher)
    : loop_(loop),
      setup_(setup),
      facts_(std::move(facts)),
      launcher_(launcher),
      policy_(site_policy(setup)),
      keys_(identity::make_key_pair()),
      waits_(setup.folders.waits()) {}

Result<std::unique_ptr<Daemon>> Daemon::open(transport::EventLoop& loop, const Setup& setup, ClusterFacts facts,
                                           launch::Launcher& launcher) {
  std::unique_ptr<Daemon> self(new Daemon(loop, setup, std::move(facts), launcher));
  self->choose_proof();
  if (self->endpoint_.proof == "key_file")
    if (const auto made = identity::make_key_file(setup.folders.key_file()); !made) return failure(made.error());
  if (const auto opened = self->open_journal(); !opened) return failure(opened.error());
  if (const auto opened = self->open_sockets(); !opened) return failure(opened.error());
  self->wire();
  return self;
}

// The order of the end: nobody finds us, nobody comes in, nobody is heard, then the rest. Leases are not touched: their
// workers wait for the next daemon.
Daemon::~Daemon() {
  withdraw_endpoint(setup_.folders.endpoint(), endpoint_);  // 1. not found any more
  listeners_.clear();  // 2. no new peer
  handshake_.reset();
  if (checker_) loop_.unwatch(proof_watch_);
  checker_.reset();  // 3. the proof thread
  control_.reset();  // 4. no message; every peer notices
  loop_.unwatch(zap_watch_);
  detached_.reset();  // 5. the core, those who speak for it, its timer
  driver_.reset();
  journal_.reset();  // 6. what was written stays
  context_.reset();  // 7. ZeroMQ's thread
}

void Daemon::choose_proof() {
  const bool munge = setup_.launcher == LauncherKind::kSlurm && facts_.auth_type == "auth/munge" &&
                     identity::munge_available(facts_.munge_socket);
  endpoint_.proof = munge ? "munge" : "key_file";
  endpoint_.munge_socket = munge ? facts_.munge_socket : "";
  endpoint_.key_file = munge ? "" : setup_.folders.key_file();
  spdlog::info("proof={} launcher={} cluster={} slurm={}", endpoint_.proof, word(setup_.launcher), setup_.place.cluster,
               facts_.version);
}

Result<void> Daemon::open_journal() {
  if (const auto written = write_place(setup_.folders, setup_.place); !written) return written;
  const std::string path = setup_.folders.journal();
  const JournalContent content = read_journal(path);
  previous_instances_ = take_over_previous_instances(setup_.folders, setup_.place, content.records);
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

void Daemon::look_after_journal() {
  if (journal_->mend()) spdlog::warn("the journal had been removed: it is written anew, with the leases that are open");
}

// One address, never all of them: a handshake endpoint stands only where somebody is expected.
Result<std::string> Daemon::address() const {
  if (setup_.launcher == LauncherKind::kLocal) return std::string("127.0.0.1");
  if (!setup_.config.advertise_address.empty()) return setup_.config.advertise_address;
  if (!policy_.now().interface.empty()) return address_of_interface(policy_.now().interface);
  return address_facing(facts_.controller_address);
}

Result<void> Daemon::open_sockets() {
  const std::string runtime = setup_.folders.runtime;
  const std::string handshake = runtime + "/handshake", control = runtime + "/control";
  const std::string handshake_inside = runtime + "/hs_tcp", control_inside = runtime + "/ctl_tcp";  // behind the listeners
  for (const std::string& path : {handshake, control, handshake_inside, control_inside}) ::unlink(path.c_str());  // of a previous instance that died
  context_ = std::make_unique<transport::Context>();
  zap_watch_ = loop_.watch_socket(context_->zap_handle(), [this] { context_->service_zap(); });
  checker_ = std::make_unique<ProofChecker>(verifier(endpoint_));
  proof_watch_ = loop_.watch_fd(checker_->fd(), [this] { checker_->on_readable(); });
  const auto heartbeat = setup_.config.times.heartbeat;
  auto channel = ControlChannel::open(loop_, *context_, keys_, {kIpc + control, kIpc + control_inside}, heartbeat, ::geteuid(), state_.peers);
  if (!channel) return failure(channel.error());
  control_ = std::move(*channel);
  const std::size_t descriptors = descriptor_limit();
  const auto control_tcp = listen("control", control_bounds(descriptors), control_inside);
  if (!control_tcp) return failure(control_tcp.error());
  const auto proof = endpoint_.proof == "munge" ? protocol::Proof::kMunge : protocol::Proof::kKeyFile;
  HandshakeEndpointPlan plan{kIpc + handshake,
                kIpc + handshake_inside,
                {kIpc + control, *control_tcp},
                setup_.instance,
                static_cast<std::uint32_t>(heartbeat.count()),
                ::geteuid()};
  auto opened = HandshakeEndpoint::open(loop_, *context_, keys_, std::move(plan), Authenticator(keys_.public_key, proof, ::geteuid()),
                         state_.peers, *checker_);
  if (!opened) return failure(opened.error());
  handshake_ = std::move(*opened);
  const auto handshake_tcp = listen("handshake", handshake_bounds(descriptors), handshake_inside);
  if (!handshake_tcp) return failure(handshake_tcp.error());
  endpoint_.handshake = {kIpc + handshake, *handshake_tcp};
  return {};
}

// Its endpoint.
Result<std::string> Daemon::listen(const std::string& name, ListenerBounds bounds, const std::string& inside) {
  const auto host = address();
  if (!host) return failure(host.error());
  auto socket = listen_at(*host, policy_.now().ports);
  if (!socket) return failure(socket.error());
  auto listener = BoundedListener::open(name, std::move(*socket), inside, bounds);
  if (!listener) return failure(listener.error());
  return listeners_.emplace_back(std::move(*listener))->endpoint();
}

std::vector<model::ListenerRow> Daemon::listener_rows() const {
  std::vector<model::ListenerRow> rows;
  for (const auto& listener : listeners_) rows.push_back(listener->row());
  return rows;
}

void Daemon::wire() {
  state_.uses.open(setup_.folders.usage(), facts_.default_class);
  endpoint_.instance = setup_.instance.hex();
  endpoint_.cluster = setup_.place.cluster;
  endpoint_.pid = static_cast<std::uint32_t>(::getpid());
  endpoint_.uid = ::geteuid();
  endpoint_.key = transport::to_z85(keys_.public_key);
  endpoint_.launcher = word(setup_.launcher);
  endpoint_.version = kVersion;
  endpoint_.log = setup_.folders.log();
  endpoint_.results = setup_.folders.results();
  for (const ClassLimits& one : facts_.classes) endpoint_.classes.push_back(class_of_qos(policy_.now(), one.name));

  wire_core();
  ClientHandler::Answers answers{
      [this](const PublicKey& asker, std::uint32_t question) { answer_queue(asker, question); },
      [this](const PublicKey& asker, const protocol::ClassesAsk& question) { answer_classes(asker, question); },
      [this] {
        policy_.look();
        return status_document({setup_, facts_, state_, policy_, listener_rows()}, driver_->core(), Clock::now());
      }};
  clients_ = std::make_unique<ClientHandler>(state_, *driver_, *control_, *detached_, setup_.notice, std::move(answers));
  workers_ = std::make_unique<WorkerHandler>(state_, *driver_, *control_, *detached_);
  control_->on_message([this](Peer& peer, const protocol::Header& header, bool back) {
    if (std::holds_alternative<protocol::Demand>(header)) policy_.look();
    if (peer.role == protocol::Role::kClient)
      clients_->hear(peer, header, back);
    else
      workers_->hear(peer, header);
  });
  control_->on_loss([this](const Peer& peer) {
    if (peer.role == protocol::Role::kWorker) workers_->lost(peer);
  });
}

void Daemon::wire_core() {
  policy_.on_change([this] { driver_->tell(lease::TimesChanged{times_under(policy_.now(), setup_.config)}); });
  driver_ = std::make_unique<CoreDriver>(
      loop_, lease::LeaseCore(setup_.instance, times_under(policy_.now(), setup_.config), [] { return random_id<LeaseId>(); }));
  ActionContext context;
  context.instance = setup_.instance;
  context.end_daemon = [this] { loop_.stop(); };
  for (const PreviousInstance& previous_instance : previous_instances_) context.previous_instances.push_back(previous_instance.instance);
  context.stand_in = setup_.launcher == LauncherKind::kLocal && setup_.config.stand_in_gpus > 0;
  context.folders = setup_.folders;
  const JobBuilder::Site site{setup_.instance, setup_.launcher == LauncherKind::kSlurm, !facts_.classes.empty(), this_user()};
  jobs_ = std::make_unique<JobBuilder>(
      site, WorkerPlan{setup_.config.pounce_worker, endpoint_, setup_.folders, setup_.config.times, context.stand_in},
      policy_, launcher_, *driver_);
  executor_ = std::make_unique<ActionExecutor>(std::move(context), state_, *control_, *journal_, launcher_, *driver_, *jobs_, policy_);
  detached_ = std::make_unique<DetachedTasks>(detached_setup(), loop_, state_, *driver_, *control_);
  driver_->start([this](const lease::Action& action) {
    waits_.hear(action, std::time(nullptr));
    if (!detached_->take(action)) executor_->carry_out(action);
  });
}

DetachedSetup Daemon::detached_setup() const {
  DetachedSetup setup{{setup_.instance.hex()}, setup_.instance.hex(), setup_.folders.results(), setup_.config.times.result_keep,
                   setup_.config.times.result_hold, setup_.config.times.orphan_grace};
  for (const PreviousInstance& previous_instance : previous_instances_) setup.instances.insert(previous_instance.instance.hex());
  return setup;
}

Result<void> Daemon::start() {
  driver_->tell(lease::JournalRead{std::move(remembered_)});
  detached_->restore();
  for (const PreviousInstance& previous_instance : previous_instances_)
    if (const auto published = publish_endpoint(previous_instance.folders, endpoint_); !published)
      spdlog::warn("workers of {} cannot be told where we are: {}", previous_instance.instance.hex(), published.error().text);
  return publish_endpoint(setup_.folders, endpoint_);
}

void Daemon::answer_classes(const PublicKey& asker, const protocol::ClassesAsk& question) {
  if (question.compare)
    return launcher_.ask(slurm::AskClusterSnapshot{question.asks.not_nodes}, [this, asker, question](Result<ClusterSnapshot> cluster_snapshot) {
      say_classes(asker, question, cluster_snapshot);
    });
  launcher_.ask(slurm::AskClasses{}, [this, asker, question](Result<ClassReport> report) {
    say_classes(asker, question, report.map([](ClassReport& use) { return ClusterSnapshot{{}, std::move(use), {}, {}}; }));
  });
}

void Daemon::say_classes(const PublicKey& asker, const protocol::ClassesAsk& question, Result<ClusterSnapshot> cluster_snapshot) {
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
    const auto has_room = [&](const Resources& asks) { return daemon::has_room(policy_.now(), *cluster_snapshot, asks); };
    if (question.compare) answer.choices = forecast::choices(question.asks, question.limit, question.eta, report, has_room);
  } else {
    answer.error = cluster_snapshot.error();
  }
  control_->send(*peer, answer);
}

void Daemon::answer_queue(const PublicKey& asker, std::uint32_t question) {
  launcher_.ask(slurm::AskQueue{}, [this, asker, question](Result<std::vector<JobView>> views) {
    Peer* peer = state_.peers.find(asker);
    if (peer == nullptr) return;
    if (views)
      for (JobView& view : *views) view.class_name = class_of(policy_.now(), view);
    protocol::QueueIs answer = queue_rows(views);
    answer.question = question;
    answer.launcher = word(setup_.launcher);
    control_->send(*peer, answer);
  });
}

}  // namespace pounce::daemon
