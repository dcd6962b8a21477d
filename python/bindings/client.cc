// The client's side for python/pounce: lets go of the GIL, calls; values cross as records (records.h). Python memory
// that is being sent is let go of later, with the GIL.
#include "client/client.h"

#include <locale.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>

#include "base/check.h"
#include "base/random_id.h"
#include "bindings.h"
#include "events.h"
#include "identity/content_digest.h"
#include "python_buffers.h"
#include "records.h"

namespace py = pybind11;

namespace pounce {
namespace {

using client::Client;
using client::Engine;

// ---- memory ------------------------------------------------------------------------------------------------------

constexpr std::size_t kCopyBelow = 4096;  // cheaper to copy than to give back later

// Borrows an object's memory, or copies it when that is cheaper or asked for.
Bytes to_buffer(const py::handle& object, bool copy) {
  BufferView view = view_of(object);
  return copy || bytes_of(*view).size() < kCopyBelow ? copied(*view) : borrowed(std::move(view));
}

std::vector<Bytes> to_buffers(const py::list& objects, bool copy) {
  std::vector<Bytes> buffers;
  for (const py::handle object : objects) buffers.push_back(to_buffer(object, copy));
  return buffers;
}

// What the last call came with, converted: a loop of calls comes with the same objects again, none of which changes.
// With the GIL.
class LastCall {
 public:
  const Resources& resources(const py::object& record) {
    if (!record.is(record_)) {
      resources_ = record.cast<Resources>();
      record_ = record;
    }
    return resources_;
  }
  Bytes function(const py::bytes& pickle) { return function_.buffer(pickle); }
  std::vector<Bytes> payload(const py::list& objects) {
    if (objects.size() != 1 || !py::isinstance<py::bytes>(objects[0]))
      return to_buffers(objects, true);  // small, and the user may change them while the task waits
    return {arguments_.buffer(objects[0])};
  }

 private:
  struct Last {
    py::object object;
    Bytes copy;

    Bytes buffer(const py::object& bytes) {
      if (bytes.is(object)) return copy;
      Bytes fresh = to_buffer(bytes, false);
      if (fresh.bytes.size() < kCopyBelow) {  // else it would keep much memory
        object = bytes;
        copy = fresh;
      }
      return fresh;
    }
  };

  py::object record_;
  Resources resources_;
  Last function_, arguments_;
};

LastCall& last_call() {
  static auto* call = new LastCall;  // never destroyed: Python's objects must not be when it has ended
  return *call;
}

// Always writable, also when small: what an array of a result is made of.
py::list to_python(std::vector<WritableBytes> memories) {
  py::list list;
  for (WritableBytes& memory : memories) list.append(writable(std::move(memory)));
  return list;
}

// ---- events --------------------------------------------------------------------------------------------------------

// As they lie in memory: making their numbers costs more than a call's other values, and most are never read.
static_assert(std::is_trivially_copyable_v<client::Timings>);

py::bytes packed(const client::Timings& timings) {
  if (timings.arrived_ns == 0) return py::bytes();
  return py::bytes(reinterpret_cast<const char*>(&timings), sizeof timings);
}

client::Timings unpacked(const py::bytes& bytes) {
  const std::string_view text(bytes);
  client::Timings timings;
  if (text.size() != sizeof timings) throw py::value_error("no packed timings");
  std::memcpy(&timings, text.data(), sizeof timings);
  return timings;
}

py::object to_python(client::Ended ended) {
  return py::cast(EndedEvent{ended.task, ended.ok, std::move(ended.error), ended.raised,
                             to_python(std::move(ended.pickle), kCopyBelow), to_python(std::move(ended.buffers)),
                             packed(ended.timings)});
}

py::object to_python(client::Printed printed) {
  if (!printed.message) return py::cast(PrintedEvent{printed.task, printed.to_stderr, py::bytes(printed.text)});
  py::list buffers;
  for (const std::string& buffer : printed.buffers) buffers.append(py::bytes(buffer));
  return py::cast(MessageEvent{printed.task, py::bytes(printed.text), buffers});
}

template <class Kind>
py::object to_python(Kind event) {
  if constexpr (HasFields<Kind>)
    return py::cast(event);
  else
    return py::cast(event.answer);
}

// A collection runs finalizers, and those may let another thread have the GIL.
struct NoCollection {
  NoCollection() = default;
  NoCollection(const NoCollection&) = delete;
  NoCollection& operator=(const NoCollection&) = delete;
  ~NoCollection() {
    if (was_on) PyGC_Enable();
  }
  bool was_on = PyGC_Disable() != 0;
};

// To the end of Python's own queue, a deque, without letting go of the GIL since they were drained: events that another
// thread drains later come behind them. Returns how many.
std::size_t hand_over(std::vector<client::Event> events, const py::object& queue) {
  const NoCollection in_one_piece;
  const py::object append = queue.attr("append");
  for (client::Event& item : events) append(std::visit([](auto& kind) { return to_python(std::move(kind)); }, item));
  return events.size();
}

struct SharableMemory {
  std::shared_ptr<memory::View> view;
  std::size_t size = 0;
};

// ---- calls -------------------------------------------------------------------------------------------------------

// An object's data stays with the client until this dies.
struct ObjectHandle {
  std::weak_ptr<Client> client;
  ObjectId id;
  client::HolderNumber holder = 0;
  std::uint64_t nbytes = 0;
  ~ObjectHandle() {
    const auto alive = client.lock();
    if (alive == nullptr) return;
    const WithoutGil released;
    static_cast<void>(alive->with_engine(
        [&](Engine& engine) { engine.release_object(id, holder); }));  // a closed client holds nothing any more
  }
};

std::shared_ptr<Client> make_client(const std::string& host, const std::string& directory,
                                    const std::vector<std::string>& interpreter,
                                    const std::map<std::string, std::string>& environment, const std::string& pounce,
                                    const std::string& python, const std::string& cloudpickle, const SessionId& relays,
                                    bool interpreter_chosen) {
  client::Setup setup;
  const SessionId session = relays.empty() ? random_id<SessionId>() : relays;
  setup.session = {session,
                   static_cast<std::uint32_t>(::getpid()),
                   host,
                   directory,
                   interpreter,
                   environment,
                   interpreter_chosen,
                   !relays.empty()};
  setup.attach = {setup.session.session, pounce, python, cloudpickle};
  return std::make_shared<Client>(std::move(setup));
}

// Many at once: each question to the kernel's generator costs what a submit does beside it. A forked child asks anew.
// With the GIL.
TaskId new_task() {
  static std::array<TaskId, 16> ids;  // 256 bytes: so many the kernel gives whole
  static std::size_t left = 0;
  static pid_t made_by = 0;
  if (const pid_t us = ::getpid(); left == 0 || us != made_by) {
    std::array<std::uint8_t, ids.size() * TaskId::kBytes> bytes;
    POUNCE_CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()), "getrandom failed");
    for (std::size_t i = 0; i < ids.size(); ++i) {
      std::array<std::uint8_t, TaskId::kBytes> one;
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(i * one.size()), one.size(), one.begin());
      ids[i] = TaskId(one);
    }
    left = ids.size();
    made_by = us;
  }
  return ids[--left];
}

TaskId submit(Client& self, const FunctionId& function, const py::bytes& function_pickle, const py::list& payload,
              std::vector<ObjectId> objects, const py::object& resources, std::uint32_t retries,
              std::int64_t submitted_ns, const TaskId& again, const std::optional<std::uint32_t>& worker,
              bool settings) {
  released_buffers().release();
  client::Call call;
  call.task = again.empty() ? new_task() : again;
  call.resources = last_call().resources(resources);
  call.retries = retries;
  if (worker) call.worker = WorkerIndex{*worker};
  call.function = function;
  call.function_pickle = last_call().function(function_pickle);
  call.payload = last_call().payload(payload);
  call.objects = std::move(objects);
  call.settings = settings;
  call.submitted_ns = submitted_ns;
  const TaskId task = call.task;
  const auto act = [&](Engine& engine) { return engine.submit(std::move(call)); };
  // At first with the GIL: another thread that gets it in between keeps it for long, and each change costs a wake-up.
  if (auto done = self.with_engine_at_once(act))
    value_of(std::move(*done));
  else
    with_engine(self, act);
  return task;
}

// device: of the worker, where the buffers are to lie.
// by_content: equal data is one object; else it is one of its own, and its bytes are not looked at.
std::unique_ptr<ObjectHandle> hold_object(const std::shared_ptr<Client>& self, const py::bytes& pickle,
                                          const py::list& buffers, bool send_now, bool by_content, std::string device) {
  released_buffers().release();
  client::Object object{to_buffer(pickle, false), to_buffers(buffers, false), std::move(device)};
  if (!by_content)  // one that is named by its content may be written again: it is copied
    object.sharable = object.buffers.empty() ? nullptr : client::sharable_memory_of(object.buffers.front().bytes);
  const std::uint64_t size = object.total_bytes();
  ObjectId id;
  const client::HolderNumber holder = without_gil([&] {
    id = by_content ? client::digest_object(object.pickle, object.buffers) : random_id<ObjectId>();
    return self->with_engine([&](Engine& engine) { return engine.hold_object(id, std::move(object), send_now); });
  });
  return std::make_unique<ObjectHandle>(self, id, holder, size);
}

// None: it is not kept here.
std::unique_ptr<ObjectHandle> take_kept(const std::shared_ptr<Client>& self, const TaskId& task) {
  const auto kept = with_engine(*self, [&](Engine& engine) { return engine.take_kept(task); });
  return kept ? std::make_unique<ObjectHandle>(self, kept->id, kept->holder, kept->bytes) : nullptr;
}

Waited wait(Client& self, const TaskId& task, std::int64_t deadline_ns, const py::object& queue) {
  const TimePoint deadline = deadline_ns < 0 ? TimePoint::max() : TimePoint(std::chrono::nanoseconds(deadline_ns));
  Result<void> waited;
  {
    WithoutGil released;
    waited = self.wait(task, deadline, [&] { return released.signal_raised(); });
  }
  py::object raised = py::none();
  if (PyErr_Occurred()) raised = py::error_already_set().value();
  released_buffers().release();
  value_of(std::move(waited));
  return {hand_over(self.drain_waited(), queue), raised};
}

std::optional<std::string> state(Client& self, const TaskId& task) {
  const auto known = with_engine(self, [&](Engine& engine) { return engine.state(task); });
  constexpr const char* kWords[] = {"waiting", "sent", "running"};
  return known ? std::optional(kWords[static_cast<int>(*known)]) : std::nullopt;
}

}  // namespace

void bind_client(py::module_& m) {
  py::class_<ObjectHandle>(m, "ObjectHandle", "Keeps an object's data with the client until it dies.")
      .def_readonly("id", &ObjectHandle::id, "str")
      .def_readonly("nbytes", &ObjectHandle::nbytes, "int");

  py::class_<SharableMemory>(m, "SharableMemory", py::buffer_protocol(),
                             "Writable bytes that workers of this machine can have without a copy (buffer protocol).")
      .def(py::init([](std::size_t size) {
             auto view = client::sharable_memory(size);
             if (view == nullptr) throw std::bad_alloc();
             return SharableMemory{std::move(view), size};
           }),
           "(size: int, /) -> None")
      .def_buffer([](SharableMemory& memory) {
        return py::buffer_info(reinterpret_cast<std::uint8_t*>(memory.view->bytes().data()),
                               static_cast<py::ssize_t>(memory.size), false);
      });
  m.def("travels", &client::travels,
        "(name: bytes, /) -> bool\nWhether workers have this environment variable of ours too.");
  m.def(
      "locale_names",
      [] {
        std::string names;
        for (const int category : {LC_CTYPE, LC_NUMERIC, LC_TIME, LC_COLLATE, LC_MONETARY, LC_MESSAGES})
          names.append(::setlocale(category, nullptr)).push_back(';');
        return py::bytes(names);
      },
      "() -> bytes\nOf this process, by category; sooner than from Python's setlocale().");
  m.def("timings", &unpacked, "(packed: bytes, /) -> Timings\nThose of an `Ended`.");
  m.def("new_task", &new_task, "() -> str\nA random id, for submit().");
  m.def(
      "digest",
      [](const py::buffer& bytes) {
        const py::buffer_info view = bytes.request();
        const std::span data(static_cast<const std::byte*>(view.ptr),
                             static_cast<std::size_t>(view.size * view.itemsize));
        const auto digest = identity::content_digest(data);
        return py::bytes(reinterpret_cast<const char*>(digest.data()), digest.size());
      },
      "(data: bytes | memoryview, /) -> bytes\nXXH3-128 of some bytes, 16 bytes.");

  py::class_<Client, std::shared_ptr<Client>> bound(
      m, "Client",
      "The client's engine. Every method may be called from any thread; none holds the GIL while it waits.");
  bound
      .def(py::init(&make_client), py::kw_only(), py::arg("host"), py::arg("directory"), py::arg("interpreter"),
           py::arg("environment"), py::arg("pounce"), py::arg("python"), py::arg("cloudpickle"), py::arg("relays"),
           py::arg("interpreter_chosen") = false,
           "(*, host: str, directory: str, interpreter: Sequence[str], environment: Mapping[str, str], pounce: str,"
           " python: str, cloudpickle: str, relays: str, interpreter_chosen: bool = False) -> None")
      .def(
          "set_daemon",
          [](Client& self, const std::string& endpoint) {
            const auto file = value_of(protocol::decode_endpoint_file(endpoint));
            with_engine(self, [&](Engine& engine) { return engine.set_daemon(file); });
          },
          "(endpoint: str, /) -> None")
      .def("daemon_failed", of_engine(&Engine::daemon_failed), "(error: Error, /) -> None")
      .def("submit", &submit, py::arg(), py::arg(), py::arg(), py::arg(), py::arg(), py::arg(), py::arg(),
           py::arg("again") = TaskId(), py::arg("worker") = py::none(), py::arg("settings") = false,
           "(function: bytes, function_pickle: bytes, payload: list[Any], objects: list[str], resources: Resources,"
           " retries: int, submitted_ns: int, /, again: str = \"\", worker: int | None = None, settings: bool = False)"
           " -> str\n"
           "function: its id. payload: [pickled arguments, *small buffers]. objects: ids. again: the id of a task that "
           "was "
           "submitted before. worker: the index in its lease of the one that runs it. settings: the last object is the "
           "settings that it runs under.")
      .def(
          "tell",
          [](Client& self, const TaskId& task, const py::bytes& text) {
            const std::vector<Bytes> message{to_buffer(text, true)};
            with_engine(self, [&](Engine& engine) { engine.tell(task, message); });
          },
          "(task: str, message: bytes, /) -> None\n"
          "To a task that runs, or to the worker that showed its last message for it.")
      .def(
          "look",
          [](Client& self, const LeaseId& lease, std::uint32_t question, const py::bytes& text) {
            const Bytes message = to_buffer(text, true);
            return with_engine(self, [&](Engine& engine) { return engine.look(lease, question, message); });
          },
          "(lease: str, question: int, text: bytes, /) -> bool\n"
          "Asks the lease's first worker what lives there; the answer is a message without a task. False: no worker is "
          "connected.")
      .def(
          "read_to_the_end",
          [](Client& self, std::uint32_t seconds) {
            with_engine(self, [&](Engine& engine) { engine.read_to_the_end(std::chrono::seconds(seconds)); });
          },
          "(seconds: int, /) -> None\n"
          "The connections of a lease that has ended are read until its workers close them, at most for so many "
          "seconds.")
      .def("reads_on", of_engine(&Engine::reads_on),
           "() -> bool\nWhether connections of an ended lease are still read.")
      .def(
          "cancel",
          [](Client& self, const TaskId& task, std::uint32_t grace_ms, bool only_if_queued) {
            with_engine(self, [&](Engine& engine) {
              engine.cancel(task, std::chrono::milliseconds(grace_ms), only_if_queued);
            });
          },
          py::arg(), py::arg(), py::arg("only_if_queued") = false,
          "(task: str, grace_ms: int, /, only_if_queued: bool = False) -> None")
      .def("state", &state, "(task: str, /) -> str | None\n\"waiting\", \"sent\" or \"running\"; None: it has ended.")
      .def("lease_status", of_engine(&Engine::lease_status), "(task: str, /) -> LeaseStatus | None")
      .def("leases_of", of_engine(&Engine::leases_of), "(task: str, /) -> list[LeaseStatus]")
      .def("leases", of_engine(&Engine::leases), "() -> list[LeaseStatus]")
      .def("move", of_engine(&Engine::move),
           "(task: str, resources: Resources, /) -> bool\nGives a task that has not started other resources. False: it "
           "was sent to a worker, or has ended.")
      .def("request", of_engine(&Engine::request),
           "(resources: Resources, /) -> int | None\nThe number of the request for these resources; None: there is "
           "none.")
      .def("expect", of_engine(&Engine::expect),
           "(resources: Resources, tasks: int, /) -> int\nSo many more tasks will come, or fewer; returns how many "
           "workers serve such tasks, or are requested.")
      .def("free_workers", of_engine(&Engine::free_workers),
           "(resources: Resources, /) -> int\nWorkers that would begin the next such task at once.")
      .def("set_modules", of_engine(&Engine::set_modules),
           "(needs: list[str], imports: list[str], /) -> None\nModules that workers attached from now on load ahead: "
           "those that waiting tasks name, then others.")
      .def("hold_object", &hold_object, py::arg(), py::arg(), py::arg(), py::arg("by_content") = true,
           py::arg("device") = "",
           "(pickle: bytes, buffers: list[Any], send_now: bool, /, by_content: bool = True, device: str = \"\") -> "
           "ObjectHandle\n"
           "device: of the worker, where the buffers are to lie; empty: in its memory.")
      .def("keep_result", of_engine(&Engine::keep_result),
           "(task: str, /) -> bool\nKeeps the task's result, if it is large, here as an object for calls that wait for "
           "it. False: the task has ended.")
      .def("take_kept", &take_kept, "(task: str, /) -> ObjectHandle | None\nOf a task that has ended; once.")
      .def("wait", &wait,
           "(task: str, deadline_ns: int, queue: deque[Any], /) -> Waited\nThe deadline is in nanoseconds of the "
           "steady clock, -1 for none. Events are put at the end of the queue.")
      .def(
          "drain", [](Client& self, const py::object& queue) { return hand_over(self.drain(), queue); },
          "(queue: deque[Any], /) -> int")
      .def(
          "wait_for_events",
          [](Client& self) {
            const WithoutGil released;
            return self.wait_for_events();
          },
          "() -> bool")
      .def(
          "close",
          [](Client& self) {
            const WithoutGil released;
            self.close();
          },
          "() -> None");
  bind_questions(bound);
}

}  // namespace pounce
