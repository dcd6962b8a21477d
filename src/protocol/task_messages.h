// Between a client and the interpreter that runs its tasks. Part of messages.h. Thread: any (values).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "model/ids.h"
#include "model/task.h"
#include "pounce/error.h"
#include "pounce/fields.h"
#include "protocol/message_limits.h"

namespace pounce::protocol {

// How far a transfer had come when its connection was lost: what has arrived is not sent again.
struct Reached {
  std::string of;
  std::uint32_t buffer = 0;
  std::uint64_t offset = 0;
  bool whole = false;
  bool operator==(const Reached&) const = default;
  Position position() const { return {buffer, offset}; }

  static constexpr auto fields() {
    return table(field("of", &Reached::of, "an object or a task"),
                 field("buffer", &Reached::buffer, "the one that goes on"), field("offset", &Reached::offset, "in it"),
                 field("whole", &Reached::whole, "all of it is there").only_if_set());
  }
};
struct Attach {
  static constexpr char kType[] = "attach";
  static constexpr About kAbout{"K → I", "",
                                "versions; another pounce, Python (as `3.11`) or cloudpickle is refused, the latter "
                                "perhaps after `attached`, before anything runs"};
  SessionId session;
  std::string pounce, python, cloudpickle;
  std::vector<std::string> needs{}, imports{};
  bool no_bulk = false, several = false;

  static constexpr auto fields() {
    return table(
        field("session", &Attach::session), field("pounce", &Attach::pounce), field("python", &Attach::python),
        field("cloudpickle", &Attach::cloudpickle),
        field("needs", &Attach::needs,
              "if set: modules that the waiting tasks name: the worker loads them before these come")
            .only_if_set(),
        field("imports", &Attach::imports, "others that the notebook has imported: loaded while no task is there")
            .only_if_set(),
        field("no_bulk", &Attach::no_bulk, "the bulk lane cannot be had from here").only_if_set(),
        field("several", &Attach::several, "the client reads `several`").only_if_set());
  }
};
// Several small messages, handled in order as if each had come by itself. None of them is an Attach or a Several.
struct Several {
  static constexpr char kType[] = "several";
  static constexpr About kAbout{"K → I, I → K", "the messages, §6.2",
                                "to who has said that it reads them (`attach`, `attached`)"};
  std::uint32_t messages = 0;

  static constexpr auto fields() { return table(field("messages", &Several::messages, "how many")); }
};
struct Attached {
  static constexpr char kType[] = "attached";
  static constexpr About kAbout{
      "I → K", "with `bulk` the keys of the lane",
      "its payload: for each connection that the worker takes, 16 bytes of name and 32 of key (§12)"};
  std::string pounce, python, cloudpickle;
  std::string host, node, devices, directory;
  std::uint32_t pid = 0;
  std::vector<Reached> reached;
  std::string bulk;
  bool several = false;

  static constexpr auto fields() {
    return table(field("pounce", &Attached::pounce), field("python", &Attached::python),
                 field("cloudpickle", &Attached::cloudpickle), field("host", &Attached::host),
                 field("node", &Attached::node), field("devices", &Attached::devices),
                 field("directory", &Attached::directory), field("pid", &Attached::pid),
                 field("reached", &Attached::reached,
                       "objects of this session that were on their way, or came whole lately; 64 at most")
                     .only_if_set(),
                 field("bulk", &Attached::bulk, "where the bulk lane is: tcp://host:port").only_if_set(),
                 field("several", &Attached::several, "the worker reads `several`").only_if_set());
  }
};
struct Function {
  static constexpr char kType[] = "function";
  static constexpr About kAbout{
      "K → I", "pickle, or a command line",
      "id: XXH3-128 of the payload, else it is refused with `protocol`. `command` true: §6.1"};
  FunctionId function;
  bool command = false;

  static constexpr auto fields() {
    return table(field("function", &Function::function), field("command", &Function::command));
  }
};
struct Object {
  static constexpr char kType[] = "object";
  static constexpr About kAbout{
      "K → I, I → I", "pickle; with `source` also keys",
      "announces the sizes of what follows as chunks, in order; with `pickle_follows` the "
      "frame is empty and the first of them is the pickle. With `places` nothing follows: the last "
      "frame is memory. Between workers of one machine: what `serve` asked for, without its pickle"};
  ObjectId object;
  std::vector<std::uint64_t> buffers, places;
  bool pickle_follows = false, fetched = false;
  std::string source{}, device{};

  static constexpr auto fields() {
    return table(
        field("object", &Object::object), field("buffers", &Object::buffers, "sizes in bytes"),
        field("pickle_follows", &Object::pickle_follows),
        field("places", &Object::places, "where in that memory each begins").only_if_set(),
        field("fetched", &Object::fetched, "no chunks follow: the receiver fetches them over the bulk lane")
            .only_if_set(),
        field("source", &Object::source, "with `fetched`: from the worker whose bulk lane is there: tcp://host:port")
            .only_if_set(),
        field("device", &Object::device,
              "where the buffers are to lie there, and not the pickle: `cuda`, `cuda:1`, `host`; it is whole when they "
              "do")
            .only_if_set());
  }
};
// Makes one worker a source for another (docs/protocol.md §12).
struct Serve {
  static constexpr char kType[] = "serve";
  static constexpr About kAbout{
      "K → I, I → K, I → I", "to the worker, without `over`: keys, as in `attached`",
      "a peer with one of these keys may fetch the object at the bulk port. The worker answers the same when "
      "they may come, or that it is over: it does not have the object. From a worker of the same machine: give me the "
      "memory"};
  ObjectId object;
  std::string to;
  bool over = false, of_one_lease = false;

  static constexpr auto fields() {
    return table(
        field("object", &Serve::object), field("to", &Serve::to, "the client's name for that reader"),
        field("over", &Serve::over, "no more").only_if_set(),
        field("of_one_lease", &Serve::of_one_lease, "both workers are: what one holds is not another job's cost")
            .only_if_set());
  }
};
struct NotFetched {
  static constexpr char kType[] = "not_fetched";
  static constexpr About kAbout{
      "I → K", "", "its `source` does not give it: what has come is kept, and the client announces it again"};
  ObjectId object;

  static constexpr auto fields() { return table(field("object", &NotFetched::object)); }
};
struct Chunk {
  static constexpr char kType[] = "chunk";
  static constexpr About kAbout{"K → I, I → K", "bytes",
                                "`of`: an object (to a worker) or a task (its outcome); in order, without gaps"};
  std::string of;
  std::uint32_t buffer = 0;
  std::uint64_t offset = 0;

  static constexpr auto fields() {
    return table(field("of", &Chunk::of), field("buffer", &Chunk::buffer), field("offset", &Chunk::offset));
  }
};
// A request on the bulk lane; the answer is the Chunk that begins there.
struct Fetch {
  static constexpr char kType[] = "fetch";
  static constexpr About kAbout{
      "K → I, I → K", "",
      "on the bulk lane only (§12): answered with one `chunk` of that size, in the order of the questions"};
  std::string of;
  std::uint32_t buffer = 0;
  std::uint64_t offset = 0, size = 0;

  static constexpr auto fields() {
    return table(field("of", &Fetch::of, "as in `chunk`"), field("buffer", &Fetch::buffer),
                 field("offset", &Fetch::offset), field("size", &Fetch::size, "at most 4 MiB"));
  }
};
struct Have {
  static constexpr char kType[] = "have";
  static constexpr About kAbout{"I → K", "", "it is whole"};
  ObjectId object;

  static constexpr auto fields() { return table(field("object", &Have::object)); }
};
struct Drop {
  static constexpr char kType[] = "drop";
  static constexpr About kAbout{"K → I", "", "this session needs them no more"};
  std::vector<ObjectId> objects;
  std::vector<FunctionId> functions;

  static constexpr auto fields() {
    return table(field("objects", &Drop::objects), field("functions", &Drop::functions));
  }
};
struct Task {
  static constexpr char kType[] = "task";
  static constexpr About kAbout{
      "K → I", "pickle of (args, kwargs), behind them the call's random streams if it has some; its buffers",
      "the pickle refers to `objects` by their places in the list"};
  TaskId task;
  FunctionId function;
  std::vector<ObjectId> objects;
  std::uint32_t attempt = 0;
  bool settings = false;

  static constexpr auto fields() {
    return table(
        field("task", &Task::task), field("function", &Task::function), field("objects", &Task::objects),
        field("attempt", &Task::attempt),
        field("settings", &Task::settings, "the last object is the settings of the kernel's process").only_if_set());
  }
};
struct Started {
  static constexpr char kType[] = "started";
  static constexpr About kAbout{"I → K", "", "it runs, and is not a short one; an outcome says so too"};
  TaskId task;

  static constexpr auto fields() { return table(field("task", &Started::task)); }
};
struct Output {
  static constexpr char kType[] = "output";
  static constexpr About kAbout{"I → K", "bytes as written; of a message its JSON, then its buffers",
                                "`stdout`, `stderr` or `message`, in the order in which they were made; all of it "
                                "comes before the outcome"};
  TaskId task;
  std::string stream;

  static constexpr auto fields() { return table(field("task", &Output::task), field("stream", &Output::stream)); }
};
// The leading buffers under kInlineBytes go inline; from the first larger one on, all follow as Chunks. So the inline
// buffers and then `buffers` are in the pickle's order.
struct Outcome {
  static constexpr char kType[] = "outcome";
  static constexpr About kAbout{"I → K", "pickle, then the leading small buffers",
                                "the others follow as chunks, as in `object`. `ok` false: the pickle is an exception "
                                "or empty, `error` says it in words"};
  TaskId task;
  bool ok = false;
  std::optional<Error> error;  // set if not ok
  std::vector<std::uint64_t> buffers, places;
  bool pickle_follows = false, fetched = false;
  std::optional<Reached> from;
  std::int64_t received_ns = 0, sent_ns = 0;
  model::RunFigures run;

  static constexpr auto fields() {
    return table(field("task", &Outcome::task), field("ok", &Outcome::ok),
                 field("error", &Outcome::error, "of one that is not `ok`"),
                 field("buffers", &Outcome::buffers,
                       "sizes of those that follow as chunks, in the pickle's order after the inline ones"),
                 field("pickle_follows", &Outcome::pickle_follows, "as in `object`: no inline buffers then"),
                 field("places", &Outcome::places, "as in `object`").only_if_set(),
                 field("from", &Outcome::from, "its chunks begin here; what comes before is there").only_if_set(),
                 field("fetched", &Outcome::fetched, "as in `object`").only_if_set(),
                 field("received_ns", &Outcome::received_ns, "the task was here, by the worker's clock as the others"),
                 field("sent_ns", &Outcome::sent_ns), part(&Outcome::run));
  }
};
struct Ack {
  static constexpr char kType[] = "ack";
  static constexpr About kAbout{"K → I", "", "their outcomes are here, whole: forget them"};
  std::vector<TaskId> tasks, kept{};

  static constexpr auto fields() {
    return table(field("tasks", &Ack::tasks),
                 field("kept", &Ack::kept,
                       "these of them stay, each as an object of the task's name: answered `have`, or "
                       "`not_fetched` where it cannot")
                     .only_if_set());
  }
};
// The name of a task's result when it is kept as an object: unique to the task, and computed without hashing the
// data.
inline ObjectId object_of(const TaskId& task) { return ObjectId::from_hex(task.hex()).value_or(ObjectId()); }
struct Query {
  static constexpr char kType[] = "query";
  static constexpr About kAbout{
      "K → I", "",
      "after each `attached`. With `no_others` the worker gives up what else it has of that session: a "
      "client that was told of a lease's end, which did not come, has given it up too"};
  std::vector<TaskId> tasks;
  bool no_others = false;
  std::vector<Reached> reached;

  static constexpr auto fields() {
    return table(field("tasks", &Query::tasks),
                 field("no_others", &Query::no_others, "false: a relay, whose session had the task before it"),
                 field("reached", &Query::reached, "outcomes of these tasks that were on their way").only_if_set());
  }
};
struct QueryIs {
  static constexpr char kType[] = "query_is";
  static constexpr About kAbout{
      "I → K", "",
      "one of `unknown`, `queued`, `running`, `done`, `forgotten` (it ran, and its session was "
      "dismissed: nothing of it is kept) for each. Unasked, with `ending`: this task came while "
      "the worker ends; it has not run, and no other will"};
  std::vector<TaskId> tasks;
  std::vector<RemoteTaskState> states;

  static constexpr auto fields() { return table(field("tasks", &QueryIs::tasks), field("states", &QueryIs::states)); }
};
struct Leaving {
  static constexpr char kType[] = "leaving";
  static constexpr About kAbout{
      "I → K", "",
      "the worker ends: nothing is started there any more. Said once to each client, and again after an `attached`; "
      "not where it does not know any more what was started"};
  std::vector<TaskId> started;

  static constexpr auto fields() {
    return table(field("started", &Leaving::started,
                       "these tasks were, and are not acknowledged; what else was sent there never ran"));
  }
};
struct CancelTask {
  static constexpr char kType[] = "cancel_task";
  static constexpr About kAbout{
      "K → I", "",
      "drop it if queued; if it runs, interrupt it (KeyboardInterrupt), and `grace_ms` "
      "later end the interpreter (missing: 5000). Again: the shortest holds. With `only_if_queued` one "
      "that runs goes on"};
  TaskId task;
  std::uint32_t grace_ms = 5000;
  bool only_if_queued = false;

  static constexpr auto fields() {
    return table(field("task", &CancelTask::task), field("grace_ms", &CancelTask::grace_ms),
                 field("only_if_queued", &CancelTask::only_if_queued));
  }
};

struct Input {
  static constexpr char kType[] = "input";
  static constexpr About kAbout{"K → I", "JSON, then its buffers",
                                "an answer for the code of a task that runs, which asked by an `input_request` in "
                                "its `message` output; dropped when the task has ended"};
  TaskId task;

  static constexpr auto fields() { return table(field("task", &Input::task)); }
};

struct Look {
  static constexpr char kType[] = "look";
  static constexpr About kAbout{"K → I, I → K", "JSON",
                                "what lives in the interpreter: completions of a text, what is known of a name. A "
                                "second thread of it answers, whatever its main thread runs. No task, and no use of "
                                "the lease; a question may stay without an answer"};
  std::uint32_t question = 0;

  static constexpr auto fields() {
    return table(field("question", &Look::question, "the client's number of it, which the answer repeats"));
  }
};

}  // namespace pounce::protocol
