#include "client/client.h"

#include <pthread.h>

#include <atomic>
#include <string>
#include <utility>

#include "identity/key_pair.h"
#include "protocol/message_limits.h"
#include "transport/leader_token.h"

namespace pounce::client {
namespace {

// pounced answers within microseconds; a stopped one must not keep a kernel from ending.
constexpr std::chrono::milliseconds kFarewell{300};

std::atomic<unsigned> forks{0};  // how many forks this process is away from the first one

void count_forks() {
  [[maybe_unused]] static const int once = ::pthread_atfork(nullptr, nullptr, [] { ++forks; });
}

}  // namespace

struct Client::Parts {
  explicit Parts(Setup setup) : engine(context, identity::make_key_pair(), std::move(setup), news) {}

  const unsigned born = forks;
  std::atomic<bool> closed = false;
  NewsQueue news;
  transport::Context context;
  Engine engine;
  transport::LeaderToken leader_token{engine, "pounce-client"};  // last: its thread uses all of the above
};

Client::Client(Setup setup) {
  count_forks();
  parts_ = std::make_unique<Parts>(std::move(setup));
}

Client::~Client() {
  if (parts_->born != forks) {
    parts_->leader_token.abandon_after_fork();
    static_cast<void>(parts_.release());  // threads, locks and sockets are the parent's: leaked on purpose
    return;
  }
  close();
}

std::optional<Error> Client::unusable() const {
  if (parts_->born != forks)
    return Error{ErrorCode::kForked, "This process was forked from the one that made the client.", {}, {}};
  if (parts_->closed) return Error{ErrorCode::kClosed, "The client was closed.", {}, {}};
  return std::nullopt;
}

Result<void> Client::set_daemon(const protocol::EndpointFile& endpoint) {
  if (auto error = unusable()) return failure(*std::move(error));
  Result<void> result;
  parts_->leader_token.hold([&] { result = parts_->engine.set_daemon(endpoint); });
  return result;
}

Result<void> Client::daemon_failed(const Error& error) {
  if (auto unusable_error = unusable()) return failure(*std::move(unusable_error));
  parts_->leader_token.hold([&] { parts_->engine.daemon_failed(error); });
  return {};
}

Result<void> Client::submit(Call call) {
  if (auto error = unusable()) return failure(*std::move(error));
  if (call.objects.size() > protocol::kTaskObjects)
    return failure(Error{ErrorCode::kTooLarge,
                         "The call has " + std::to_string(call.objects.size()) + " handles in its arguments, and one call takes " +
                             std::to_string(protocol::kTaskObjects) + " at most.",
                         "Scatter lists of values instead of single ones, or make several calls of it.", {}});
  parts_->leader_token.hold([&] { parts_->engine.submit(std::move(call)); });
  return {};
}

Result<void> Client::set_modules(std::vector<std::string> needs, std::vector<std::string> imports) {
  if (auto error = unusable()) return failure(*std::move(error));
  parts_->leader_token.hold([&] { parts_->engine.set_modules(std::move(needs), std::move(imports)); });
  return {};
}

Result<void> Client::tell(const TaskId& task, const std::vector<Buffer>& message) {
  if (auto error = unusable()) return failure(*std::move(error));
  parts_->leader_token.hold([&] { parts_->engine.tell(task, message); });
  return {};
}

Result<void> Client::read_to_the_end(Duration most) {
  if (auto error = unusable()) return failure(*std::move(error));
  parts_->leader_token.hold([&] { parts_->engine.read_to_the_end(most); });
  return {};
}

Result<bool> Client::reads_on() {
  if (auto error = unusable()) return failure(*std::move(error));
  bool reads = false;
  parts_->leader_token.hold([&] { reads = parts_->engine.reads_on(); });
  return reads;
}

Result<void> Client::cancel(const TaskId& task, std::chrono::milliseconds grace, bool only_if_queued) {
  if (auto error = unusable()) return failure(*std::move(error));
  parts_->leader_token.hold([&] { parts_->engine.cancel(task, grace, only_if_queued); });
  return {};
}

Result<bool> Client::move(const TaskId& task, const Resources& resources) {
  if (auto error = unusable()) return failure(*std::move(error));
  bool moved = false;
  parts_->leader_token.hold([&] { moved = parts_->engine.move(task, resources); });
  return moved;
}

Result<std::optional<task::TaskState>> Client::state(const TaskId& task) {
  if (auto error = unusable()) return failure(*std::move(error));
  std::optional<task::TaskState> state;
  parts_->leader_token.hold([&] { state = parts_->engine.state(task); });
  return state;
}

Result<std::optional<protocol::LeaseStatus>> Client::lease_status(const TaskId& task) {
  if (auto error = unusable()) return failure(*std::move(error));
  std::optional<protocol::LeaseStatus> status;
  parts_->leader_token.hold([&] { status = parts_->engine.lease_status(task); });
  return status;
}

Result<std::vector<protocol::LeaseStatus>> Client::leases_of(const TaskId& task) {
  if (auto error = unusable()) return failure(*std::move(error));
  std::vector<protocol::LeaseStatus> leases;
  parts_->leader_token.hold([&] { leases = parts_->engine.leases_of(task); });
  return leases;
}

Result<std::vector<protocol::LeaseStatus>> Client::leases() {
  if (auto error = unusable()) return failure(*std::move(error));
  std::vector<protocol::LeaseStatus> leases;
  parts_->leader_token.hold([&] { leases = parts_->engine.leases(); });
  return leases;
}

Result<std::optional<RequestId>> Client::request(const Resources& resources) {
  if (auto error = unusable()) return failure(*std::move(error));
  std::optional<RequestId> found;
  parts_->leader_token.hold([&] { found = parts_->engine.request(resources); });
  return found;
}

Result<std::uint32_t> Client::expect(const Resources& resources, std::int64_t tasks) {
  if (auto error = unusable()) return failure(*std::move(error));
  std::uint32_t workers = 0;
  parts_->leader_token.hold([&] {
    if (tasks != 0) parts_->engine.expect(resources, tasks);
    workers = parts_->engine.workers_for(resources);
  });
  return workers;
}

Result<std::uint32_t> Client::free_workers(const Resources& resources) {
  if (auto error = unusable()) return failure(*std::move(error));
  std::uint32_t workers = 0;
  parts_->leader_token.hold([&] { workers = parts_->engine.free_workers(resources); });
  return workers;
}

Result<HolderNumber> Client::hold_object(const ObjectId& id, Object object, bool send_now) {
  if (auto error = unusable()) return failure(*std::move(error));
  HolderNumber holder = 0;
  parts_->leader_token.hold([&] { holder = parts_->engine.hold_object(id, std::move(object), send_now); });
  return holder;
}

Result<void> Client::release_object(const ObjectId& id, HolderNumber holder) {
  if (auto error = unusable()) return failure(*std::move(error));
  parts_->leader_token.hold([&] { parts_->engine.release_object(id, holder); });
  return {};
}

Result<bool> Client::keep_result(const TaskId& task) {
  if (auto error = unusable()) return failure(*std::move(error));
  bool keeps = false;
  parts_->leader_token.hold([&] { keeps = parts_->engine.keep_result(task); });
  return keeps;
}

Result<std::optional<Engine::KeptResult>> Client::take_kept(const TaskId& task) {
  if (auto error = unusable()) return failure(*std::move(error));
  std::optional<Engine::KeptResult> kept;
  parts_->leader_token.hold([&] { kept = parts_->engine.take_kept(task); });
  return kept;
}

Result<std::uint32_t> Client::ask(const protocol::Header& question, std::uint32_t asked) {
  if (auto error = unusable()) return failure(*std::move(error));
  parts_->leader_token.hold([&] { asked = parts_->engine.ask(question, asked); });
  return asked;
}

Result<void> Client::wait(const TaskId& task, TimePoint deadline, const std::function<bool()>& interrupted) {
  if (auto error = unusable()) return failure(*std::move(error));
  Parts& parts = *parts_;
  // Asking for signals costs a visit to the GIL: only after turns that a signal may have ended.
  const auto stop = [&] { return parts.closed || (parts.engine.last_turn_was_quiet() && interrupted()); };
  parts.news.enter();
  parts.leader_token.pump_until([&] { return !parts.news.empty() || !parts.engine.state(task); }, deadline, stop);
  return {};
}

std::vector<News> Client::drain_waited() {
  auto news = parts_->news.drain();
  parts_->news.leave();
  return news;
}

std::vector<News> Client::drain() { return parts_->born == forks ? parts_->news.drain() : std::vector<News>{}; }

bool Client::wait_for_news() { return parts_->born == forks && parts_->news.wait(); }

void Client::close() {
  if (parts_->born != forks || parts_->closed.exchange(true)) return;
  const TimePoint closed = Clock::now();
  parts_->leader_token.hold([&] { parts_->engine.close(); });
  parts_->leader_token.pump_until([&] { return parts_->engine.closed_for_good(closed); }, closed + kFarewell, [] { return false; });
  parts_->news.close();
}

}  // namespace pounce::client
