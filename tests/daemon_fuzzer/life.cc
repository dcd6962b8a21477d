#include "daemon_fuzzer/life.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>

#include "base/log.h"
#include "base/text.h"
#include "daemon_fuzzer/speech.h"
#include "messages/sentence.h"
#include "protocol/codec.h"
#include "protocol/message_limits.h"
#include "transport/zmq_context.h"

namespace pounce::daemon_fuzzer {
namespace {

using namespace std::chrono_literals;
using namespace protocol;

constexpr std::size_t kMostActors = 24;
constexpr std::uint32_t kMostSteps = 400;

const InstanceId kInstance = *InstanceId::from_hex("0123456789ab");

// The whole life, where one seed is looked at.
void trace(const std::string& who, const char* does, const std::string& what) {
  static const bool shown = std::getenv("POUNCE_FUZZ_SEED") != nullptr;
  if (shown) std::fprintf(stderr, "%s%s%s\n", who.c_str(), does, printable(what, 600).c_str());
}

}  // namespace

// In memory, where there is such a folder: what is synced to a disk a thousand times is slow.
[[maybe_unused]] const bool in_memory =
    std::filesystem::is_directory("/dev/shm") && ::setenv("TMPDIR", "/dev/shm", 0) == 0;

Life::Life(std::string_view script, PlantedBug planted) : planted_(planted), script_(script) {
  spdlog::set_level(spdlog::level::off);
  const std::string policy = scratch_.write("policy.json", "{}");
  setup_.config.policy = policy;
  setup_.config.pounce_worker = "/usr/bin/pounce-worker";
  setup_.scope = {"test", "machine", "boot", 1, 0, ""};
  setup_.instance = kInstance;
  setup_.folders = {scratch_.file("test/" + kInstance.hex()), scratch_.file("run/" + kInstance.hex())};
  if (const auto made = daemon::make_folders(setup_.folders); !made) complain(made.error().text);
  pool_.names = {"train", "eval", ".hidden", "../up", "a name", ""};
  pool_.texts = {"",
                 "tcp://127.0.0.1:1",
                 "/tmp",
                 std::string(300, 'x'),
                 std::string(64, 'b'),
                 "\x1b[2J\n",
                 "\xff\xfe",
                 std::string(1, '\0'),
                 "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"};
  const auto on_submit = [this](const JobSpec& spec) {
    const auto open = daemon::open_records(daemon::read_journal(setup_.folders.journal()).records);
    if (std::ranges::none_of(open, [&](const auto& record) { return record.lease == spec.lease; }))
      complain("lease " + spec.lease.hex() + " is submitted without an intent on the disk");
    const auto secret = spec.environment.find("SECRET");
    for (const Actor& one : actors_)
      for (const Actor& other : actors_)
        if (one.session != other.session && spec.directory == "/home/" + one.place() &&
            secret != spec.environment.end() && secret->second == other.secret())
          complain("a job gets the environment of one session and the folder of another");
  };
  launcher_ = std::make_unique<FakeLauncher>(kInstance, planted, on_submit,
                                             [this](const std::string& what) { complain(what); });
  for (std::size_t i = 0; i < kClients; ++i) {
    Actor client;
    client.number = ++peers_made_;
    client.session = id_from<SessionId>(0x5e5510000 + ++sessions_made_);
    pool_.sessions.push_back(client.session);
    for (std::uint32_t task = 0; task < 2; ++task)
      pool_.tasks.push_back(id_from<TaskId>(0x7a5c'0000'0000 + client.number * 0x10000 + task));
    actors_.push_back(client);
  }
  Actor stranger = actors_.front();
  stranger.number = ++peers_made_;
  stranger.stranger = true;
  actors_.push_back(stranger);
  for (const TaskId& task : pool_.tasks) pool_.sessions.push_back(daemon::DetachedTasks::session_of(task));
  for (std::size_t i = 0; i < kClients; ++i) {  // a task may be called as a session is
    std::array<std::uint8_t, TaskId::kBytes> bytes;
    std::ranges::copy(actors_[i].session.bytes(), bytes.begin());
    pool_.tasks.push_back(TaskId(bytes));
  }
  daemon_starts();
}

Life::~Life() { service_.reset(); }

void Life::complain(const std::string& what) {
  if (outcome_.trouble.empty()) outcome_.trouble = "step " + std::to_string(outcome_.steps) + ": " + what;
}

Outcome Life::live() {
  using Step = void (Life::*)();
  // How often each comes is how often it stands here.
  constexpr Step kSteps[] = {&Life::step_progress, &Life::step_say,        &Life::step_job,      &Life::step_time,
                             &Life::step_progress, &Life::step_say,        &Life::step_job,      &Life::step_say,
                             &Life::step_progress, &Life::step_say,        &Life::step_time,     &Life::step_say,
                             &Life::step_trouble,  &Life::step_silence,    &Life::step_say,      &Life::step_noise,
                             &Life::step_progress, &Life::step_connection, &Life::step_identity, &Life::step_files};
  try {
    everybody_begins();
    while (outcome_.trouble.empty() && !script_.over() && outcome_.steps < kMostSteps) {
      ++outcome_.steps;
      const std::size_t step = script_.below(std::size(kSteps));
      trace("step " + std::to_string(outcome_.steps), " is number ", std::to_string(step));
      (this->*kSteps[step])();
      check();
    }
    if (outcome_.trouble.empty()) settle();
  } catch (const std::exception& error) {
    complain(std::string("an exception left the daemon: ") + error.what());
  }
  return outcome_;
}

// ---- the daemon ---------------------------------------------------------------------------------------------------

void Life::daemon_starts() {
  ClusterFacts facts;
  facts.cluster = "test", facts.version = "slurm 22.05.8", facts.default_class = "normal";
  facts.classes = {ClassLimits{"normal"}};
  auto opened = daemon::Service::open(loop_, setup_, facts, *launcher_);
  if (!opened) {  // serve.cc ends then; the next one finds room
    disk_.ends();
    opened = daemon::Service::open(loop_, setup_, facts, *launcher_);
  }
  if (!opened) return complain(opened.error().text);
  service_ = std::move(*opened);
  service_->connect({{},
                     [this](const std::string& route, const std::string& frame) { return transmit(route, frame); },
                     [] { return std::vector<model::ListenerRow>(); }});
  authenticator_ = std::make_unique<daemon::Authenticator>(PublicKey{}, Proof::kKeyFile, ::geteuid());
  service_->start();
}

void Life::daemon_dies() {
  service_.reset();
  launcher_->drop();
  ++outcome_.restarts;
  for (Actor& actor : actors_) actor.cut = false, ++actor.connection;
}

bool Life::transmit(const std::string& route, const std::string& frame) {
  for (std::size_t i = 0; i < actors_.size(); ++i) {
    if (actors_[i].route() != route) continue;
    if (actors_[i].cut) return false;
    trace(route, " hears ", frame);
    sent_.push_back({i, frame});
    plant_in_answer(i, frame);
    return true;
  }
  return false;
}

void Life::plant_in_answer(std::size_t to, const std::string& frame) {
  const bool is_answer = frame.find("_is\"") != std::string::npos;
  if (planted_ == PlantedBug::kAnswersEverybody && is_answer)
    for (std::size_t i = 0; i < kClients; ++i)
      if (i != to) sent_.push_back({i, frame});
  if (planted_ == PlantedBug::kWrongWorker && actors_[to].role == Role::kWorker)
    for (std::size_t i = 0; i < actors_.size(); ++i)
      if (actors_[i].role == Role::kWorker && actors_[i].lease != actors_[to].lease) return sent_.push_back({i, frame});
  if (planted_ == PlantedBug::kSecretShown && to < kClients && frame.find("\"refused\"") != std::string::npos)
    sent_.push_back({to, encode(Refused{Error{ErrorCode::kProtocol, actors_[(to + 1) % kClients].secret(), {}, {}}})});
}

void Life::run_timers() {
  if (planted_ == PlantedBug::kTimersLost) return;
  loop_.at(Clock::now(), [this] { loop_.stop(); });
  loop_.run();
}

// ---- what peers do ------------------------------------------------------------------------------------------------

Actor& Life::any_actor() { return actors_[script_.below(actors_.size())]; }

void Life::hello(Actor& actor) {
  Hello hello;
  hello.role = actor.role;
  hello.proof = script_.one_in(4) ? Proof::kKeyFile : Proof::kPeer;
  hello.key = transport::to_z85(actor.key());
  (actor.role == Role::kClient ? hello.session : hello.lease) =
      actor.role == Role::kClient ? actor.session.hex() : actor.lease.hex();
  const std::string frame = encode(hello);
  daemon::Handshake handshake{actor.key(), std::nullopt, {frame, ""}};
  if (!actor.stranger) handshake.uid = ::geteuid();
  auto verdict = authenticator_->judge(handshake, Clock::now());
  auto* peer = std::get_if<daemon::Peer>(&verdict);
  if (auto* proof = std::get_if<daemon::ProofToCheck>(&verdict); proof != nullptr && !actor.stranger)
    peer = &proof->peer;
  if (peer == nullptr) return;
  if (actor.stranger) return complain("a stranger is admitted");
  service_->peers().admit(*peer, Clock::now());
  if (service_->peers().size() > daemon::Peers::kMost) complain("there are more peers than there may be");
}

void Life::say(Actor& actor, const Header& header) {
  prepare(header);
  witness_.says(actor, header);
  if (const auto question = answer_wanted(header); question.second != 0) actor.questions.insert(question);
  deliver(actor, encode(header), &header);
}

// What a kernel does before it asks, and a worker before it tells.
void Life::prepare(const Header& header) {
  if (const auto* submit = std::get_if<SubmitDetached>(&header)) {
    ::mkdir((setup_.folders.results() + "/." + submit->task.hex()).c_str(), 0700);
    detached_used_ = true;
    ++outcome_.detached;
  }
}

void Life::deliver(Actor& actor, const std::string& frame, const Header* header) {
  PublicKey key = actor.key();
  std::string route = actor.route();
  const bool kept =
      planted_ == PlantedBug::kSessionKept && header != nullptr && std::holds_alternative<CloseSession>(*header);
  if (const auto* demand = header == nullptr ? nullptr : std::get_if<Demand>(header);
      demand != nullptr && planted_ == PlantedBug::kSpeaksForAnother)
    for (const Actor& other : actors_)
      if (other.role == Role::kClient && !other.stranger && other.session == demand->session)
        key = other.key(), route = other.route();
  check_sent();
  trace(route, " says ", frame);
  const daemon::Peer* peer = service_->peers().find(key);
  const bool back = peer != nullptr && (peer->missed || (!peer->route.empty() && peer->route != route));
  const std::string before = picture();
  if (!kept) service_->control().hear(key, route, frame);
  if (planted_ == PlantedBug::kRefusedAndDone && header != nullptr && std::holds_alternative<Demand>(*header))
    sent_.push_back({static_cast<std::size_t>(&actor - actors_.data()),
                     encode(Refused{Error{ErrorCode::kProtocol, "no", {}, {}}})});
  if (peer == nullptr) {
    if (!sent_.empty() || picture() != before) complain("somebody who was not admitted is heard: " + frame);
    return;
  }
  if (header != nullptr) check_reply(actor, *header, back, before);
}

void Life::check_reply(const Actor& actor, const Header& header, bool back, const std::string& before) {
  bool refused = false, others = false;
  for (const Sent& sent : sent_) {
    const bool to_it = &actors_[sent.to] == &actor;
    others |= !to_it;
    refused |= to_it && sent.frame.find("\"refused\"") != std::string::npos;
  }
  outcome_.refused += refused;
  if (!refused) check_interpreters(header);
  if (names_another(actor, header) && !refused && !actor.cut) complain("it may speak for another: " + encode(header));
  if (refused && !back && others) complain("a message is refused and others hear of it: " + encode(header));
  if (refused && !back && picture() != before)
    complain("a message is refused and changes something: " + encode(header) + "\nbefore\n" + before + "after\n" +
             picture());
  if (const auto* close = std::get_if<CloseSession>(&header);
      close != nullptr && !refused && service_->core().has_session(close->session) && !actor.cut)
    if (service_->peers().client(close->session) != nullptr) complain("a session is closed and still there");
}

bool Life::names_another(const Actor& actor, const Header& header) const {
  return std::visit(
      [&](const auto& message) {
        using Message = std::decay_t<decltype(message)>;
        if constexpr (std::is_same_v<Message, OpenSession> || std::is_same_v<Message, Demand> ||
                      std::is_same_v<Message, CloseSession>)
          return message.session != actor.session;
        else if constexpr (std::is_same_v<Message, WorkerUp> || std::is_same_v<Message, InterpreterUp> ||
                           std::is_same_v<Message, InterpreterDown> || std::is_same_v<Message, WorkerBeat> ||
                           std::is_same_v<Message, WorkerGpus> || std::is_same_v<Message, DetachedEnded>)
          return message.lease != actor.lease;
        else
          return false;
      },
      header);
}

void Life::add_workers(const FakeLauncher::Job& job) {
  for (std::uint32_t index = 0; index < std::min(job.view.resources.workers, 2u); ++index) {
    if (actors_.size() >= kMostActors) actors_.erase(actors_.begin() + kClients + 1);
    Actor worker;
    worker.role = Role::kWorker;
    worker.number = ++peers_made_;
    worker.lease = job.spec.lease;
    worker.worker = {index};
    worker.job = job.view.job_identity;
    worker.epoch = {job.view.job_identity.restart * 10 + 1};
    actors_.push_back(worker);
    if (script_.one_in(4)) continue;  // it comes later, or never
    hello(actors_.back());
    say(actors_.back(), opening_of(actors_.back()));
  }
}

}  // namespace pounce::daemon_fuzzer
