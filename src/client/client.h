// What the Python binding uses: one client, callable from any thread. Each call takes the leader token for a moment; wait()
// pumps the engine itself. After a fork the child's copy answers kForked and touches nothing of the parent's.
// Thread: any.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "client/engine.h"
#include "client/news.h"
#include "pounce/result.h"

namespace pounce::client {

class Client {
 public:
  explicit Client(Setup setup);
  ~Client();  // closes

  Result<void> set_daemon(const protocol::EndpointFile& endpoint);
  Result<void> daemon_failed(const Error& error);

  Result<void> submit(Call call);
  Result<void> tell(const TaskId& task, const std::vector<Buffer>& message);
  Result<void> read_to_the_end(Duration most);
  Result<bool> reads_on();
  Result<void> cancel(const TaskId& task, std::chrono::milliseconds grace, bool only_if_queued = false);
  Result<bool> move(const TaskId& task, const Resources& resources);
  Result<std::optional<task::TaskState>> state(const TaskId& task);
  Result<std::optional<protocol::LeaseStatus>> lease_status(const TaskId& task);
  Result<std::vector<protocol::LeaseStatus>> leases_of(const TaskId& task);
  Result<std::vector<protocol::LeaseStatus>> leases();
  Result<std::optional<RequestId>> request(const Resources& resources);
  // So many more tasks will come, or fewer; tells how many workers serve such, or are asked for.
  Result<std::uint32_t> expect(const Resources& resources, std::int64_t tasks);
  Result<std::uint32_t> free_workers(const Resources& resources);  // that would begin the next such task at once
  Result<HolderNumber> hold_object(const ObjectId& id, Object object, bool send_now);
  Result<void> release_object(const ObjectId& id, HolderNumber holder);
  Result<bool> keep_result(const TaskId& task);
  Result<std::optional<Engine::KeptResult>> take_kept(const TaskId& task);
  Result<void> set_modules(std::vector<std::string> needs, std::vector<std::string> imports);
  Result<std::uint32_t> ask(const protocol::Header& question, std::uint32_t asked);  // of pounced; see Engine

  // Blocks until there is news, the task has ended (for other threads may have taken its news), `deadline`, or
  // interrupted() says so, which is asked after signals and several times a second. Whoever it returned to without an
  // error takes the news by drain_waited(): until then nobody else is woken for them.
  Result<void> wait(const TaskId& task, TimePoint deadline, const std::function<bool()>& interrupted);
  std::vector<News> drain_waited();
  std::vector<News> drain();
  bool wait_for_news();  // for the notifier thread; false: closed

  void close();  // ends every task, tells pounced, waits at most a moment for it

 private:
  struct Parts;
  std::optional<Error> unusable() const;
  std::unique_ptr<Parts> parts_;
};

}  // namespace pounce::client
