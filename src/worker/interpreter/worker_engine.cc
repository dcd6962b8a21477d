#include "worker/interpreter/worker_engine.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/network.h"
#include "identity/proof.h"
#include "protocol/message_limits.h"
#include "worker/common/bounded_log.h"

namespace pounce::worker {
namespace {

using namespace std::chrono_literals;

constexpr char kZapDomain[] = "data";
constexpr int kHighWaterMark = 128;         // messages, of 1 MB each when bulk: 128 MB on their way
constexpr std::size_t kMostNewcomers = 64;  // connections that may hold a descriptor before they have authenticated
constexpr rlim_t kCrowd = 1024;             // connections that libzmq may accept before they are cut
constexpr std::size_t kTurnMessages = 64;   // so that a thread that wants the leader token does not wait long
constexpr std::size_t kTurnBytes = 8 * 1024 * 1024;
constexpr std::size_t kOutputWaiting = 16 * 1024 * 1024;  // beyond it printing waits for the reader, as on a terminal
constexpr std::size_t kOutcomesTogether = 16;
constexpr auto kGatherFor = 250us;  // for short tasks that follow each other
constexpr auto kRetry = 2ms;        // when ZeroMQ's queue to a client is full
constexpr auto kLongSleep = 1h;     // when there is nothing to do: a limit that no clock arithmetic overflows
constexpr auto kActivityPause = 100ms, kActivityBeat = 1000ms;  // least and most time between reports to the supervisor

std::string working_directory() {
  const std::unique_ptr<char, decltype(&std::free)> path(::get_current_dir_name(), std::free);
  return path ? path.get() : "";
}

// Raises the limit of descriptors by what untrusted peers at our port may take, so that the task has as many as the
// site allows.
void leave_room_for_untrusted_peers() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = std::min(files.rlim_max, files.rlim_cur + kCrowd);
  ::setrlimit(RLIMIT_NOFILE, &files);  // the limit is never lowered; a failure changes nothing
}

}  // namespace

std::int64_t to_ns(TimePoint time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

Result<std::unique_ptr<WorkerEngine>> WorkerEngine::start(EngineSetup setup) {
  auto page = RunPage::map(setup.run_page.get());
  if (!page) return failure(std::move(page.error()));
  page->clear();
  std::unique_ptr<WorkerEngine> engine(new WorkerEngine(std::move(setup), std::move(*page)));
  if (auto bound = engine->bind(); !bound) return failure(std::move(bound.error()));
  engine->supervisor_.send(protocol::Ready{engine->endpoint(), transport::to_z85(engine->key())});
  return engine;
}

// The descriptors move out of the setup into their owners; plain values remain.
WorkerEngine::WorkerEngine(EngineSetup setup, RunPage page)
    : setup_{{},
             {},
             {},
             {},
             setup.log_fd,
             setup.facing,
             setup.node,
             setup.devices,
             setup.python,
             std::move(setup.interrupt),
             std::move(setup.nudge),
             setup.interface,
             setup.ports,
             setup.keep_bytes,
             {},
             {}},
      keys_(identity::make_key_pair()),
      supervisor_(std::move(setup.supervisor)),
      pipes_{OutputPipe(std::move(setup.output), setup.log_fd, "stdout", page.words()),
             OutputPipe(std::move(setup.errors), setup.log_fd, "stderr", page.words())},
      page_(std::move(page)),
      host_(host_name()),
      directory_(working_directory()),
      store_(setup.keep_bytes, std::move(setup.room_for)),
      devices_(std::make_shared<device::Devices>(setup.package_folders)) {}

WorkerEngine::~WorkerEngine() = default;

Result<void> WorkerEngine::bind() {
  const auto address =
      setup_.interface.empty() ? address_facing(setup_.facing) : address_of_interface(setup_.interface);
  if (!address) return failure(address.error());
  leave_room_for_untrusted_peers();
  context_.admit(kZapDomain, [this](const transport::ZapQuestion& question) {
    if (!clients_.admits(question.key)) read_supervisor();  // its Admit may be waiting there
    return clients_.admits(question.key);
  });
  transport::ServerOptions options;
  options.zap_domain = kZapDomain;
  options.max_frame_bytes = protocol::kDataFrameBytes;
  options.high_water_mark = kHighWaterMark;
  options.heartbeat = 2s;
  options.heartbeat_timeout = 10s;
  options.most_newcomers = kMostNewcomers;
  const std::string where = "tcp://" + *address + ":" + (setup_.ports.empty() ? "*" : setup_.ports);
  auto socket = transport::RouterSocket::bind(context_, keys_, options, {where});
  if (!socket) return failure(std::move(socket.error()));
  lanes_.listen_at(where);
  sockets_.open(std::move(*socket), transport::LocalServer::listen(keys_.public_key, protocol::kDataFrameBytes));
  return {};
}

void WorkerEngine::turn(int wake_fd, TimePoint until) {
  tell_started();
  wait(wake_fd, std::min(until, next_deadline()));
  context_.service_zap();
  read_supervisor();  // first, so that a task that comes with the order to end never starts
  receive_messages();
  follow_lanes();
  follow_memory();
  follow_devices();
  follow_kept_results();
  const TimePoint now = Clock::now();
  if (now >= core_deadline()) tell_core(exec::TimePassed{});
  nudge(now);
  forward_output(now, false);
  flush_outboxes();
  tell_activity(now);
}

TimePoint WorkerEngine::core_deadline() const { return runner_over_ ? TimePoint::max() : core_.next_deadline(); }

TimePoint WorkerEngine::next_deadline() const {
  const TimePoint now = Clock::now();
  if (more_) return now;
  TimePoint deadline =
      std::min({now + kLongSleep, core_deadline(), nudge_at_, lanes_.next_deadline(), memory_relays_.next_deadline()});
  if (blocked_) deadline = now + kRetry;
  if (!output_blocked())
    for (const OutputPipe& pipe : pipes_)
      if (pipe.resting(now)) deadline = std::min(deadline, pipe.rest_until());
  if (activity_changed_) deadline = std::min(deadline, activity_told_ + kActivityPause);
  if (clients_.anyone_connected()) deadline = std::min(deadline, activity_told_ + kActivityBeat);
  return deadline;
}

void WorkerEngine::wait(int wake_fd, TimePoint until) {
  poll_.clear();
  sockets_.add_to(poll_);
  lanes_.add_to(poll_);
  memory_relays_.add_to(poll_);
  device_objects_.add_to(poll_);
  poll_.add_socket(context_.zap_handle());
  poll_.add_fd(wake_fd);
  if (supervisor_.open()) poll_.add_fd(supervisor_.fd(), supervisor_.unsent());
  const TimePoint now = Clock::now();
  for (const OutputPipe& pipe : pipes_)
    if (pipe.fd() >= 0 && !pipe.resting(now) && !output_blocked()) poll_.add_fd(pipe.fd());
  poll_.wait(until);
  sockets_.admit_waiting(poll_);
  lanes_.accept_waiting(poll_);
  memory_relays_.accept_waiting(poll_);
}

void WorkerEngine::receive_messages() {
  std::size_t messages = 0, bytes = 0;
  more_ = true;
  while (messages < kTurnMessages && bytes < kTurnBytes) {
    auto message = sockets_.receive();
    if (!message) {
      more_ = false;
      return;
    }
    ++messages;
    for (const transport::Frame& frame : message->frames) bytes += frame.size();
    handle(std::move(*message));
  }
}

bool WorkerEngine::output_blocked() const {
  const auto found = const_cast<Clients&>(clients_).seat(output_session_);
  return found != nullptr && found->outbox.waiting_bytes() > kOutputWaiting;
}

void WorkerEngine::forward_output(TimePoint now, bool to_the_end) {
  ClientSeat* seat = clients_.seat(output_session_);
  for (OutputPipe& pipe : pipes_) {
    if (!to_the_end && (pipe.resting(now) || output_blocked())) continue;
    for (std::string bytes = pipe.read(now); !bytes.empty(); bytes = to_the_end ? pipe.read(now) : std::string())
      if (named_log_)
        append_to_log(named_log_.get(), bytes);
      else if (seat != nullptr && seat->attached)
        seat->outbox.post(protocol::Output{output_task_, pipe.stream()}, {own_bytes(std::move(bytes))});
  }
}

void WorkerEngine::forward_last_output() {
  forward_output(Clock::now(), true);
  flush_outboxes();
}

void WorkerEngine::flush_outboxes() {
  blocked_ = false;
  flushed_at_ = Clock::now();
  for (auto& [session, seat] : clients_.seats()) {
    if (seat.outbox.empty()) continue;
    const Outbox::Flushed flushed = seat.outbox.flush(sockets_, seat.route, store_.pool());
    blocked_ |= flushed == Outbox::Flushed::kBlocked && !sockets_.polled_for_room(seat.route);
    more_ |= flushed == Outbox::Flushed::kMore;
  }
  sockets_.flush();
}

// True over the network while the next task is already here: outcomes of tasks that end within microseconds go as one
// message. If the next task takes longer, the stand-by thread sends them; it looks at once.
bool WorkerEngine::outcome_may_wait() {
  const ClientSeat* seat = clients_.seat(output_session_);
  return core_.waiting() > 0 && seat != nullptr && seat->outbox.packs() && seat->outbox.waiting() < kOutcomesTogether &&
         Clock::now() < flushed_at_ + kGatherFor;
}

void WorkerEngine::tell_activity(TimePoint now) {
  const bool due = activity_changed_ ? now >= activity_told_ + kActivityPause
                                     : clients_.anyone_connected() && now >= activity_told_ + kActivityBeat;
  if (!due || !supervisor_.open()) return;
  std::int64_t seen_ms_ago = -1;
  if (const auto seen = clients_.last_seen())
    seen_ms_ago = std::chrono::duration_cast<std::chrono::milliseconds>(now - *seen).count();
  owing_ = owing_ && owes();
  // A worker that saves is busy, and so is one that stays for an outcome. Neither keeps a worker that was told to
  // end.
  const std::uint32_t more = ending_ ? 0 : (saving() ? 1 : 0) + (owing_ ? 1 : 0);
  supervisor_.send(
      protocol::Activity{activity_ + more, seen_ms_ago, state_, std::exchange(stays_, false), loading_, held_});
  activity_changed_ = false;
  activity_told_ = now;
}

// The stand-by thread pumps, so the task is not a short one, and its client is told that it runs. (The outcome of a
// short task says so itself; what may have run before a crash is in the run page.)
void WorkerEngine::tell_started() {
  if (!started_untold_) return;
  if (ClientSeat* seat = clients_.seat(output_session_)) seat->outbox.post(protocol::Started{*started_untold_});
  started_untold_.reset();
}

}  // namespace pounce::worker
