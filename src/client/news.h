// What the engine has to tell Python: a queue that any thread may drain. A thread that waits for a result drains it
// on its way. The notifier thread is woken (through an eventfd) only when no thread waits, so that short calls never
// need it. Its mutex is held for moments; nothing is called under it. Thread: any.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "base/unique_fd.h"
#include "client/call.h"
#include "pounce/fields.h"
#include "protocol/messages.h"

namespace pounce::client {

struct Printed {
  TaskId task;
  bool to_stderr = false;
  std::string text;
  bool message = false;                // text is the JSON of a Jupyter message, with these
  std::vector<std::string> buffers{};
};
struct Told {  // one line for the user
  std::string text;

  static constexpr auto fields() { return table(field("text", &Told::text)); }
};
struct StatusChanged {
  RequestId request;

  static constexpr auto fields() { return table(field("request", &StatusChanged::request)); }
};
struct GivenBack {  // its lease was given back for a waiting user while nothing of ours ran there
  RequestId request;
  std::map<std::string, std::string> context;  // of the lease's end: at, node, job

  static constexpr auto fields() {
    return table(field("request", &GivenBack::request), field("context", &GivenBack::context));
  }
};
struct DaemonNeeded {  // the connection to pounced is gone and needed: run `pounced ensure`, then set_daemon()
  static constexpr auto fields() { return table(); }
};
struct QueueShown {
  protocol::QueueIs answer;
};
struct ClassesShown {
  protocol::ClassesIs answer;
};
struct StatusShown {
  protocol::StatusIs answer;
};
struct NamesShown {
  protocol::DetachedList answer;
};
using News = std::variant<Printed, Ended, Told, StatusChanged, GivenBack, DaemonNeeded, QueueShown, ClassesShown, StatusShown,
                          NamesShown>;

class NewsQueue {
 public:
  NewsQueue();

  void push(News news);
  std::vector<News> drain();
  bool empty() const;

  // Count the threads on their way to drain(). When the last leaves with something left, or something comes while
  // there is none, the eventfd becomes readable.
  void enter();
  void leave();
  void close();  // wakes wait() for good

  // For the notifier thread: returns false when closed.
  bool wait();

 private:
  void signal() const;
  // Beyond this, output that is not drained is dropped, and the text says so (a kernel may compute for hours without
  // a wait).
  static constexpr std::size_t kMaxPrintedBytes = 64 * 1024 * 1024;

  UniqueFd wake_;
  mutable std::mutex mutex_;  // guards everything below
  std::vector<News> queue_;
  std::size_t printed_bytes_ = 0;
  int waiters_ = 0;
  bool closed_ = false;
};

}  // namespace pounce::client
