// The interpreter's side of a worker, for python/pounce/_worker/interpreter.py: takes jobs from the engine, calls
// Python for each in the main thread, and sends the results. Buffers travel both ways without a copy if no other code
// can see them.
#include <fcntl.h>
#include <pthread.h>
#include <pybind11/pybind11.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "bindings.h"
#include "device_memory.h"
#include "events.h"
#include "memory/kept_view.h"
#include "python_buffers.h"
#include "records.h"
#include "worker/common/bounded_log.h"
#include "worker/interpreter/worker_host.h"

namespace py = pybind11;

namespace pounce {
namespace {

using worker::Job;
using worker::JobResult;
using worker::WorkerEngine;
using worker::WorkerHost;

constexpr std::chrono::milliseconds kReaderPause{5};
constexpr double kLongestPause = 3600;         // seconds until the next call of idle()
constexpr std::size_t kCopyBelow = 64 * 1024;  // a small pickle becomes bytes: cheaper than a buffer object

// Takes a pending signal out here: otherwise Python handles it in the next bytecode, which may be unrelated code.
// Raises exceptions other than KeyboardInterrupt (from a handler of the user). Main thread.
bool swallow_interrupt() {
  static unsigned seen = 0;
  if (const unsigned sent = WorkerHost::interrupts_sent(); sent != std::exchange(seen, sent))
    ::syscall(SYS_gettid);  // returning from the kernel delivers what is pending
  if (PyErr_CheckSignals() == 0) return false;
  if (!PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) throw py::error_already_set();
  PyErr_Clear();
  return true;
}

class InterruptBlocked {
 public:
  InterruptBlocked() {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  }
  ~InterruptBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// For one thread: memory is counted per process all the same, and the kernel need not add up the times of all
// threads. Objects that the task did not use are not its memory.
std::int64_t most_memory() {
  rusage used{};
  if (::getrusage(RUSAGE_THREAD, &used) != 0) return 0;
  return std::max<std::int64_t>(1024 * used.ru_maxrss - static_cast<std::int64_t>(memory::KeptView::unused_bytes()), 0);
}

WorkerHost* host_for_fork = nullptr;
void disarm_child() {
  if (host_for_fork != nullptr) host_for_fork->abandon_after_fork();
}

// The main thread's work between tasks and the time of its next call. WorkerHost::next is not called meanwhile, so
// arrivals are queued.
class IdleCalls {
 public:
  explicit IdleCalls(const py::object& idle) : idle_(idle) {}

  TimePoint next() const { return next_; }
  bool after_task() const { return next_ == TimePoint::min(); }  // then idle() is called even if another task waits
  void task_ended() {
    if (!idle_.is_none()) next_ = TimePoint::min();
  }
  // True if idle() has modules to load. A waiting task goes first: idle() is called after it. Without the GIL.
  bool has_modules(const WorkerHost& host) const { return host.modules_asked() && !host.wanted() && !idle_.is_none(); }
  void soon() { next_ = Clock::now(); }
  // An exception from it belongs to no task and is only logged.
  void call() {
    next_ = TimePoint::max();
    try {
      const py::object again = idle_();
      if (!again.is_none()) next_ = Clock::now() + pause(again);
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("idle()");
    }
  }

 private:
  static Duration pause(const py::object& again) {
    const double seconds = PyFloat_AsDouble(again.ptr());
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
    return std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>(seconds > 0 ? std::min(seconds, kLongestPause) : 0));
  }

  py::object idle_;
  TimePoint next_ = TimePoint::max();
};

NamespaceState namespace_state(const std::string& word) {
  constexpr auto all = words(NamespaceState{});
  const auto found = std::ranges::find(all.all, word);
  if (found == std::end(all.all)) throw py::value_error("not a state of the variables: " + word);
  return static_cast<NamespaceState>(found - std::begin(all.all));
}

class PyWorker {
 public:
  PyWorker(int supervisor, int output, int errors, int log, int page, std::string facing, std::string node,
           std::string devices, std::string python, std::string interface, std::string ports,
           std::vector<std::string> package_folders) {
    ::setvbuf(stdout, nullptr, _IOLBF, 0);  // C libraries' lines appear live too
    // Not for user programs.
    for (const int fd : {supervisor, output, errors, log, page}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    worker::EngineSetup setup{UniqueFd(supervisor),
                              UniqueFd(output),
                              UniqueFd(errors),
                              UniqueFd(page),
                              log,
                              std::move(facing),
                              std::move(node),
                              std::move(devices),
                              std::move(python),
                              {},
                              {},
                              std::move(interface),
                              std::move(ports)};
    setup.package_folders = std::move(package_folders);
    auto host = WorkerHost::start(std::move(setup));
    if (!host) throw std::runtime_error(host.error().text);
    host_ = std::move(*host);
    host_for_fork = host_.get();
    static const int once = ::pthread_atfork(nullptr, nullptr, disarm_child);
    if (once != 0) throw std::runtime_error("pthread_atfork failed");
  }

  // Runs tasks until the worker ends. execute(job) -> outcome; describe(exception) -> outcome, for exceptions that
  // escape execute. idle() -> None, or the seconds without a task until it is called again.
  void serve(const py::function& execute, const py::function& describe, const py::object& idle) {
    IdleCalls idle_calls(idle);
    while (true) {
      if (idle_calls.after_task() ? !host_->ending() : Clock::now() >= idle_calls.next() && !host_->wanted())
        idle_calls.call();
      std::optional<Job> job;
      {
        const py::gil_scoped_release release;
        job = host_->next([&] { return released_buffers().pending() || idle_calls.has_modules(*host_); },
                          idle_calls.next());
        if (!job && idle_calls.has_modules(*host_)) {
          job = host_->away();
          idle_calls.soon();
        }
      }
      released_buffers().release();  // after the wait: frees buffers released with a job's arrival before the job runs
      // The interrupt was meant for the previous task, or for this one, whose cancel came with it.
      if (swallow_interrupt() && job && !job->failure && cancel_asked(job->task))
        job->failure = Error{ErrorCode::kCancelled, "the task was cancelled before it started", {}, {}};
      if (job) {
        run(std::move(*job), execute, describe);
        take_back_writes();
        idle_calls.task_ended();
      } else if (host_->over()) {
        return;
      }
    }
  }

  // Main thread, in idle(): there is other work to do.
  bool wanted() const { return host_ == nullptr || host_->wanted(); }

  void tell_state(const std::string& word) {
    const NamespaceState state = namespace_state(word);
    const py::gil_scoped_release release;
    if (host_ != nullptr) host_->with_engine([&](WorkerEngine& engine) { engine.tell_state(state); });
  }

  // Any thread; blocks while the reader is far behind, like printing.
  void show(const py::bytes& text, const std::vector<py::bytes>& buffers) {
    const std::shared_ptr<WorkerHost> host = host_;
    if (host == nullptr || host->forked()) return;
    std::vector<Bytes> message{own_bytes(std::string(text))};
    for (const py::bytes& buffer : buffers) message.push_back(own_bytes(std::string(buffer)));
    std::fflush(stdout);
    while (!shown(*host, message))
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }

  // Main thread, in a task.
  void keep_output(const std::string& folder, std::uint64_t most_bytes) {
    const py::gil_scoped_release release;
    auto kept = std::make_shared<worker::KeptOutput>(folder, most_bytes);
    host_->with_engine([&](WorkerEngine& engine) { engine.output().keep(std::move(kept)); });
  }

  std::string end_kept(const py::bytes& last, double seconds) {
    std::string text(last);
    const py::gil_scoped_release release;
    std::fflush(stdout);
    const auto kept = host_->with_engine([](WorkerEngine& engine) { return engine.output().keep(nullptr); });
    const std::chrono::duration<double> wait(seconds);
    return kept ? kept->end(std::move(text), std::chrono::duration_cast<std::chrono::milliseconds>(wait)) : "";
  }

  // Main thread, in a task: the client's next message to it. Blocks; None: the worker ends.
  py::object input() {
    std::optional<std::vector<std::string>> message;
    bool raised = false;
    {
      WithoutGil released;
      message = host_->input([&] { return raised = released.signal_raised(); });
    }
    if (raised) throw py::error_already_set();
    return message ? py::object(py::bytes(message->front())) : py::none();
  }

  // Main thread, at the worker's end: the client's answer to what was shown. None: no answer in time, or no client.
  py::object answer(double seconds) {
    std::optional<std::vector<std::string>> message;
    bool raised = false;
    {
      WithoutGil released;
      const auto until = Clock::now() + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
      message = host_->answer(until, [&] { return raised = released.signal_raised(); });
    }
    if (raised) throw py::error_already_set();
    return message ? py::object(py::bytes(message->front())) : py::none();
  }

  // Any thread but the main one; blocks. None: close_looks() was called, or this is a forked child.
  std::optional<LookQuestion> next_look(double seconds) {
    const std::shared_ptr<WorkerHost> host = host_;
    if (host == nullptr || host->forked()) return std::nullopt;
    std::optional<worker::LookQuestion> question;
    bool closed = false;
    {
      const py::gil_scoped_release release;
      const auto until = Clock::now() + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
      question = host->looks().next(until);
      closed = !question && host->looks().closed();
    }
    if (closed) return std::nullopt;
    if (!question) return LookQuestion{};
    return LookQuestion{question->session, question->number, py::bytes(question->text)};
  }

  void answer_look(const SessionId& session, std::uint32_t number, const py::bytes& text) {
    const std::shared_ptr<WorkerHost> host = host_;
    if (host == nullptr || host->forked()) return;
    Bytes answer = own_bytes(std::string(text));
    const py::gil_scoped_release release;
    host->with_engine([&](WorkerEngine& engine) { engine.looks().answer(session, number, std::move(answer)); });
  }

  void close_looks() {
    if (host_ != nullptr && !host_->forked()) host_->looks().close();
  }

  bool ending() const { return host_ == nullptr || host_->ending(); }  // any thread

  bool yield_asked() const { return host_ != nullptr && host_->yield_asked(); }  // any thread

  void interrupt_before_end(double seconds, double share) {
    const py::gil_scoped_release release;
    if (host_ == nullptr || host_->forked()) return;
    const auto before = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
    host_->with_engine([&](WorkerEngine& engine) { engine.tasks().interrupt_before_end(before, share); });
  }

  bool preempted() const { return host_ != nullptr && host_->preempted(); }  // any thread

  int limit_reached() const { return host_ != nullptr ? host_->limit_reached() : 0; }  // any thread

  py::object devices() const { return pounce::to_python(host_->devices()); }

  std::string endpoint() const { return host_ != nullptr ? host_->endpoint() : ""; }
  std::int64_t end_time() const { return host_ != nullptr ? host_->end_time_s() : 0; }

  void remove_when_acknowledged(const TaskId& task, std::string file) {
    const py::gil_scoped_release release;
    if (host_ == nullptr || host_->forked()) return;
    host_->with_engine([&](WorkerEngine& engine) { engine.tasks().remove_when_acknowledged(task, std::move(file)); });
  }

  void tell_held() {
    const py::gil_scoped_release release;
    if (host_ != nullptr) host_->with_engine([](WorkerEngine& engine) { engine.supervisor().tell_held(); });
  }

  void tell_loading(std::string module) {
    const py::gil_scoped_release release;
    if (host_ == nullptr) return;
    host_->with_engine([&](WorkerEngine& engine) { engine.supervisor().tell_loading(std::move(module)); });
  }
  void tell_reported(std::string status, std::map<std::string, std::string> numbers, std::string mlflow_run) {
    const py::gil_scoped_release release;
    if (host_ == nullptr) return;
    model::Reported reported{std::move(status), std::move(numbers), std::move(mlflow_run)};
    host_->with_engine([&](WorkerEngine& engine) { engine.supervisor().tell_reported(std::move(reported)); });
  }
  bool modules_asked() const { return host_ != nullptr && host_->modules_asked(); }  // any thread
  // Main thread, in idle(): modules to load ahead, by `needs` and `imports`; empty: no new request.
  std::map<std::string, std::vector<std::string>> modules() {
    const py::gil_scoped_release release;
    if (host_ == nullptr || !host_->modules_asked()) return {};
    worker::ModulesAhead modules =
        host_->with_engine([](WorkerEngine& engine) { return engine.attach_handler().take_modules(); });
    return {{"needs", std::move(modules.needs)}, {"imports", std::move(modules.imports)}};
  }

  void set_cloudpickle(std::string version) {
    host_->with_engine([&](WorkerEngine& engine) { engine.attach_handler().set_cloudpickle(std::move(version)); });
  }
  // Another thread of Python may be inside the host: the last one out destroys it.
  void close() {
    if (host_->forked()) return;
    host_for_fork = nullptr;
    std::shared_ptr<WorkerHost> host = std::move(host_);
    const py::gil_scoped_release release;
    host.reset();
  }

  // One job in Python.
  struct View {
    PyWorker& worker;
    Job job;

    py::bytes function_pickle() const { return py::bytes(*job.function_body.bytes); }
    // All parts at once: fetching them one by one costs more than a short function.
    JobParts parts() const {
      JobParts parts;
      const auto id = job.function.bytes();
      parts.function = py::bytes(reinterpret_cast<const char*>(id.data()), id.size());
      parts.command = job.function_body.command;
      parts.kept_in = job.kept_in;
      if (!job.settings.empty()) parts.settings = job.settings.hex();
      parts.received_ns = job.received_ns;
      if (job.frames == nullptr) return parts;
      parts.pickle = to_python({(*job.frames)[1].writable(), job.frames}, kCopyBelow);
      for (std::size_t i = 2; i < job.frames->size(); ++i)
        parts.buffers.append(writable({(*job.frames)[i].writable(), job.frames}));
      return parts;
    }
    PickledObject object(std::size_t index) const {
      const worker::ObjectUse& use = job.objects.at(index);
      if (use.on_device) return {to_python(use.pickle, kCopyBelow), pounce::to_python(use.on_device)};
      py::list list;
      for (const WritableBytes& buffer : use.buffers) list.append(writable(buffer));
      return {to_python(use.pickle, kCopyBelow), list};
    }
    py::object settings() const { return to_python(job.objects.back().pickle, kCopyBelow); }
    TaskId task() const { return job.task; }
    SessionId session() const { return job.session; }
    std::string kept_in() const { return job.kept_in; }
    bool cancel_asked() const { return worker.cancel_asked(job.task); }
  };

 private:
  void run(Job job, const py::function& execute, const py::function& describe) {
    const TaskId task = job.task;
    JobResult result;
    bool interrupted;
    if (job.failure) {
      result.error = std::move(*job.failure);
      result.pickle = own_bytes({});
      interrupted = end_run(task, std::move(result));
    } else {
      interrupted = call(std::move(job), execute, describe);
    }
    if (interrupted) swallow_interrupt();
  }

  static bool shown(WorkerHost& host, const std::vector<Bytes>& message) {
    const py::gil_scoped_release release;
    const bool taken = host.with_engine([&](WorkerEngine& engine) { return engine.output().show(message); });
    if (!taken) std::this_thread::sleep_for(kReaderPause);
    return taken;
  }

  bool call(Job job, const py::function& execute, const py::function& describe) {
    const TaskId task = job.task;
    py::object view = py::cast(new View{*this, std::move(job)}, py::return_value_policy::take_ownership);
    py::object outcome;
    try {
      outcome = execute(view);
    } catch (py::error_already_set& stray) {  // an interrupt between the lines of its loop
      return end_stray(task, view, stray, describe);
    }
    view = py::none();
    return end(task, std::move(outcome));
  }

  bool end_stray(const TaskId& task, py::object& view, py::error_already_set& stray, const py::function& describe) {
    const InterruptBlocked blocked;
    swallow_interrupt();
    py::object outcome = describe(view, stray.value());
    view = py::none();
    return end(task, std::move(outcome));
  }

  bool end(const TaskId& task, py::object outcome) {
    leave_forked_child();
    JobResult result = to_result(std::move(outcome));
    std::fflush(stdout);
    return end_run(task, std::move(result));
  }

  // Sends the result. True if a SIGINT was sent to this thread while the job ran. No further one comes for it.
  bool end_run(const TaskId& task, JobResult result) {
    return host_->with_engine([&](WorkerEngine& engine) { return engine.tasks().end_run(task, std::move(result)); });
  }

  // When the outcome is sent: no caller waits for it.
  static void take_back_writes() {
    const py::gil_scoped_release release;
    memory::KeptView::take_back_writes();
  }

  bool cancel_asked(const TaskId& task) {
    return host_->with_engine([&](WorkerEngine& engine) { return engine.tasks().cancel_asked(task); });
  }

  JobResult to_result(py::object record) {
    JobResult result;
    std::vector<PendingBuffer> pending;
    {
      auto outcome = record.cast<JobOutcome>();
      result.ok = outcome.ok;
      result.error = std::move(outcome.error);
      result.run = outcome.figures;
      pending.emplace_back(outcome.pickle);
      for (const py::handle buffer : outcome.buffers) pending.emplace_back(buffer);
    }
    record = py::none();  // now only the buffers refer to their memory
    result.pickle = pending.front().settle(kCopyBelow);
    for (std::size_t i = 1; i < pending.size(); ++i) result.buffers.push_back(pending[i].settle(kCopyBelow));
    return result;
  }

  // After a function that forked and returned in the child as well: only the parent answers.
  void leave_forked_child() const {
    if (host_->forked()) ::_exit(0);
  }

  std::shared_ptr<WorkerHost> host_;
};

}  // namespace

void bind_worker(py::module_& m) {
  py::class_<PyWorker::View>(m, "Job")
      .def_property_readonly("function_pickle", &PyWorker::View::function_pickle, "bytes")
      .def_property_readonly("parts", &PyWorker::View::parts, "JobParts\nMade anew each time.")
      .def_property_readonly("task", &PyWorker::View::task, "str")
      .def_property_readonly("session", &PyWorker::View::session, "str\nOf the client whose task it is.")
      .def_property_readonly("kept_in", &PyWorker::View::kept_in, "str")
      .def("object", &PyWorker::View::object, "(index: int, /) -> PickledObject")
      .def("settings", &PyWorker::View::settings, "() -> bytes | Memory\nThe pickle of the object that `parts` names.")
      .def("cancel_asked", &PyWorker::View::cancel_asked, "() -> bool");
  py::class_<PyWorker>(m, "Worker", "The interpreter's side of a worker.")
      .def(py::init<int, int, int, int, int, std::string, std::string, std::string, std::string, std::string,
                    std::string, std::vector<std::string>>(),
           py::kw_only(), py::arg("supervisor"), py::arg("output"), py::arg("errors"), py::arg("log"), py::arg("page"),
           py::arg("facing"), py::arg("node"), py::arg("devices"), py::arg("python"), py::arg("interface") = "",
           py::arg("ports") = "", py::arg("package_folders") = std::vector<std::string>{},
           "(*, supervisor: int, output: int, errors: int, log: int, page: int, facing: str, node: str, devices: str,"
           " python: str, interface: str = \"\", ports: str = \"\", package_folders: list[str] = []) -> None")
      .def(
          "serve", &PyWorker::serve, py::arg("execute"), py::arg("describe"), py::arg("idle") = py::none(),
          "(execute: Callable[[Job], JobOutcome], describe: Callable[[Job, BaseException], JobOutcome],"
          " idle: Callable[[], float | None] | None = None) -> None\n"
          "Runs tasks in the main thread until the worker ends. It calls idle() there after a task, unless another "
          "waits. "
          "What arrives meanwhile is queued, so idle() looks at wanted() often. idle() returns None, or after how many "
          "seconds without a task it is to be called again.")
      .def("wanted", &PyWorker::wanted, "() -> bool\nAny thread, cheap: a task waits, or the worker ends.")
      .def("tell_state", &PyWorker::tell_state,
           "(word: str, /) -> None\nAny thread. \"saved\", \"saving\" (the lease counts as busy), \"unsaved\", "
           "\"stepping\" or \"kept\"; else ValueError.")
      .def("keep_output", &PyWorker::keep_output, py::arg("folder"), py::arg("most_bytes"),
           "(folder: str, most_bytes: int) -> None\nMain thread, in a task: what it prints and shows is also kept "
           "there, until end_kept(). A thread writes; nothing waits for it.")
      .def("end_kept", &PyWorker::end_kept, py::arg("last"), py::arg("seconds"),
           "(last: bytes, seconds: float) -> str\nMain thread, in a task: `last` is the file `end` there, once all "
           "output is written. Waits so long at most. Returns why something is not kept; empty: all went well.")
      .def("tell_held", &PyWorker::tell_held,
           "() -> None\nAny thread: a notebook holds this worker, which stays noted.")
      .def("tell_loading", &PyWorker::tell_loading,
           "(module: str, /) -> None\nAny thread: what is loaded ahead; empty: nothing.")
      .def(
          "tell_reported", &PyWorker::tell_reported,
          "(status: str, numbers: dict[str, str], mlflow_run: str, /) -> None\nAny thread: what programs here reported "
          "last. pounced takes 2 KiB.")
      .def("modules", &PyWorker::modules,
           "() -> dict[str, list[str]]\nIn idle(), once: by \"needs\" and \"imports\", what clients want loaded ahead.")
      .def_property_readonly("modules_asked", &PyWorker::modules_asked,
                             "bool\nAny thread, cheap: there is something new for modules().")
      .def("show", &PyWorker::show,
           "(message: bytes, buffers: Sequence[bytes], /) -> None\nAny thread. JSON of a Jupyter message and its "
           "buffers; blocks while the client is far behind.")
      .def(
          "input", &PyWorker::input,
          "() -> bytes | None\nMain thread, in a task: the client's next message to it. Blocks; None: the worker ends.")
      .def("answer", &PyWorker::answer,
           "(seconds: float, /) -> bytes | None\nMain thread, also when the worker ends: the client's answer to what "
           "was shown. None: none came in time, or no client is there.")
      .def("next_look", &PyWorker::next_look,
           "(seconds: float, /) -> LookQuestion | None\nA thread of its own: the next question about what lives here; "
           "number 0: none came in time. None: close_looks() was called.")
      .def("answer_look", &PyWorker::answer_look,
           "(session: str, number: int, text: bytes, /) -> None\nAny thread: JSON, for who asked.")
      .def("close_looks", &PyWorker::close_looks, "() -> None\nAny thread.")
      .def("ending", &PyWorker::ending, "() -> bool\nAny thread, cheap: the worker ends.")
      .def("yield_asked", &PyWorker::yield_asked,
           "() -> bool\nAny thread, cheap: a task waits, and the running loop can be left.")
      .def("interrupt_before_end", &PyWorker::interrupt_before_end, py::arg("seconds"), py::arg("share") = 1.0,
           "(seconds: float, share: float = 1.0) -> None\nAny thread: the running task gets SIGINT so long before the "
           "job's end, at most that share of the time left when the end is known, and once more at half of that.")
      .def("preempted", &PyWorker::preempted,
           "() -> bool\nAny thread, cheap: a job that goes first takes its place, and its time ends with the grace.")
      .def("limit_reached", &PyWorker::limit_reached, "() -> int\nAny thread, cheap: how often it was sent.")
      .def_property_readonly("end_time", &PyWorker::end_time,
                             "int\nAny thread, never blocks: of the job, unix; 0: not known.")
      .def_property_readonly("devices", &PyWorker::devices,
                             "Devices\nOf this process; none is opened before its first use.")
      .def_property_readonly("endpoint", &PyWorker::endpoint,
                             "str\nAny thread, never blocks: \"tcp://10.0.0.1:40123\", where clients reach it.")
      .def("remove_when_acknowledged", &PyWorker::remove_when_acknowledged,
           "(task: str, file: str, /) -> None\nThe file at this path, once the client has the task's outcome.")
      .def("set_cloudpickle", &PyWorker::set_cloudpickle, "(version: str, /) -> None")
      .def("close", &PyWorker::close, "() -> None");
  m.attr("LOG_BYTES") = worker::kLogBytes;
  m.def("most_memory", &most_memory,
        "() -> int\nBytes that this process had at a time, since its kernel's count was last reset.");
  m.def("append_to_log", &worker::append_to_log, py::call_guard<py::gil_scoped_release>(),
        "(fd: int, data: bytes, /) -> None\nBounded, whatever is printed (worker/common/bounded_log.h).");
}

}  // namespace pounce
