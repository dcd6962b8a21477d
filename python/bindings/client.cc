// The client's side for python/pounce: converts, lets go of the GIL, calls, converts back. News come as tuples whose first
// item is their kind (python/pounce/_news.py). Python memory that is being sent is let go of later, with the GIL.
#include "client/client.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <chrono>
#include <memory>
#include <mutex>

#include "answers.h"
#include "base/random_id.h"
#include "bindings.h"
#include "convert.h"
#include "questions.h"
#include "resources.h"

namespace py = pybind11;

namespace pounce {
namespace {

using client::Buffer;
using client::Client;
using client::Memory;
using pounce::to_python;  // beside those below

// ---- memory ------------------------------------------------------------------------------------------------------

constexpr std::size_t kCopyBelow = 4096;  // cheaper to copy than to give back later

// Buffers that nothing sends any more, waiting for somebody with the GIL: their last holder was ZeroMQ's thread.
class LetGo {
 public:
  void add(Py_buffer* view) {
    const std::scoped_lock lock(mutex_);
    views_.push_back(view);
  }
  void drain() {
    std::vector<Py_buffer*> views;
    {
      const std::scoped_lock lock(mutex_);
      if (views_.empty()) return;
      views.swap(views_);
    }
    for (Py_buffer* view : views) {
      PyBuffer_Release(view);
      delete view;
    }
  }

 private:
  std::mutex mutex_;  // guards views_
  std::vector<Py_buffer*> views_;
};

LetGo& let_go() {
  static auto* list = new LetGo;  // never destroyed: ZeroMQ's thread may be the last to use it
  return *list;
}

// Borrows an object's memory, in C or Fortran order, or copies it when that is cheaper or asked for.
Buffer to_buffer(const py::handle& object, bool copy) {
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(object.ptr(), view.get(), PyBUF_FULL_RO) != 0) throw py::error_already_set();
  const std::span bytes(static_cast<const std::byte*>(view->buf), static_cast<std::size_t>(view->len));
  if (copy || bytes.size() < kCopyBelow) {
    Buffer own = client::own_buffer(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    PyBuffer_Release(view.get());
    return own;
  }
  return {bytes, std::shared_ptr<Py_buffer>(view.release(), [](Py_buffer* done) { let_go().add(done); })};
}

std::vector<Buffer> to_buffers(const py::list& objects, bool copy) {
  std::vector<Buffer> buffers;
  for (const py::handle object : objects) buffers.push_back(to_buffer(object, copy));
  return buffers;
}

py::object to_python(Memory memory) {
  if (memory.bytes.size() >= kCopyBelow) return py::cast(std::move(memory));
  return py::bytes(reinterpret_cast<const char*>(memory.bytes.data()), memory.bytes.size());
}

// Always writable, also when small: what an array of a result is made of.
py::list to_python(std::vector<Memory> memories) {
  py::list list;
  for (Memory& memory : memories) list.append(py::cast(std::move(memory)));
  return list;
}

// ---- ids -----------------------------------------------------------------------------------------------------------

template <class Id>
py::bytes to_python(const Id& id)
  requires requires { Id::kBytes; }
{
  return py::bytes(reinterpret_cast<const char*>(id.bytes().data()), Id::kBytes);
}

// ---- news --------------------------------------------------------------------------------------------------------

py::tuple to_python(client::Ended ended) {
  const auto& t = ended.timings;
  return py::make_tuple("ended", to_python(ended.task), ended.ok,
                        ended.ok ? py::object(py::none()) : py::object(to_python(ended.error)), ended.raised,
                        to_python(std::move(ended.pickle)), to_python(std::move(ended.buffers)),
                        py::make_tuple(t.queue_ns, t.boot_ns, t.send_ns, t.run_ns, t.receive_ns, t.arrived_ns));
}

py::tuple to_python(client::News news) {
  if (auto* ended = std::get_if<client::Ended>(&news)) return to_python(std::move(*ended));
  if (auto* shown = std::get_if<client::Printed>(&news); shown != nullptr && shown->message) {
    py::list buffers;
    for (const std::string& buffer : shown->buffers) buffers.append(py::bytes(buffer));
    return py::make_tuple("message", to_python(shown->task), py::bytes(shown->text), buffers);
  }
  if (auto* printed = std::get_if<client::Printed>(&news))
    return py::make_tuple("printed", to_python(printed->task), printed->to_stderr, py::bytes(printed->text));
  if (auto* told = std::get_if<client::Told>(&news)) return py::make_tuple("told", told->text);
  if (auto* status = std::get_if<client::StatusChanged>(&news)) return py::make_tuple("status", status->want.value);
  if (auto* given = std::get_if<client::GivenBack>(&news)) return py::make_tuple("given_back", given->want.value, given->context);
  if (auto* queue = std::get_if<client::QueueShown>(&news)) return to_python(queue->answer);
  if (auto* classes = std::get_if<client::ClassesShown>(&news)) return to_python(classes->answer);
  if (auto* status = std::get_if<client::StatusShown>(&news)) return to_python(status->answer);
  if (auto* names = std::get_if<client::NamesShown>(&news)) return to_python(names->answer);
  return py::make_tuple("daemon");
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

// To the end of Python's own queue, a deque, without letting go of the GIL since they were drained: news that another
// thread drains later come behind them. Returns how many.
std::size_t hand_over(std::vector<client::News> news, const py::object& queue) {
  const NoCollection in_one_piece;
  const py::object append = queue.attr("append");
  for (client::News& item : news) append(to_python(std::move(item)));
  return news.size();
}

// ---- calls -------------------------------------------------------------------------------------------------------

// An object's data stays with the client until this dies.
struct Hold {
  std::weak_ptr<Client> client;
  ObjectId id;
  ~Hold() {
    const auto alive = client.lock();
    if (alive == nullptr) return;
    const WithoutGil released;
    static_cast<void>(alive->release_object(id));  // a closed client holds nothing any more
  }
};

std::shared_ptr<Client> make_client(const std::string& host, const std::string& directory,
                                    const std::vector<std::string>& interpreter,
                                    const std::map<std::string, std::string>& environment, const std::string& pounce,
                                    const std::string& python, const std::string& cloudpickle, const std::string& carries,
                                    bool interpreter_named) {
  client::Setup setup;
  const SessionId session = carries.empty() ? random_id<SessionId>() : hex_to_id<SessionId>(carries);
  setup.session = {session,     static_cast<std::uint32_t>(::getpid()), host, directory, interpreter,
                   environment, interpreter_named, !carries.empty()};
  setup.attach = {setup.session.session, pounce, python, cloudpickle};
  return std::make_shared<Client>(std::move(setup));
}

py::bytes submit(Client& self, const py::bytes& function, const py::bytes& function_pickle, const py::list& payload,
                 const std::vector<std::string>& objects, const ResourceTuple& resources, std::uint32_t retries,
                 std::int64_t submitted_ns, const std::string& again) {
  let_go().drain();
  client::Call call;
  call.task = again.empty() ? random_id<TaskId>() : hex_to_id<TaskId>(again);
  call.resources = to_resources(resources);
  call.retries = retries;
  call.function = to_id<FunctionId>(std::string_view(function));
  call.function_pickle = to_buffer(function_pickle, false);
  call.payload = to_buffers(payload, true);  // small, and the person may change them while the task waits
  for (const std::string& id : objects) call.objects.push_back(hex_to_id<ObjectId>(id));
  call.submitted_ns = submitted_ns;
  const TaskId task = call.task;
  Result<void> result;
  {
    const WithoutGil released;
    result = self.submit(std::move(call));
  }
  value_of(std::move(result));
  return to_python(task);
}

py::tuple hold(const std::shared_ptr<Client>& self, const py::bytes& pickle, const py::list& buffers, bool send_now) {
  let_go().drain();
  client::Object object{to_buffer(pickle, false), to_buffers(buffers, false)};
  const std::uint64_t size = object.total_bytes();
  ObjectId id;
  Result<void> result;
  {
    const WithoutGil released;
    id = client::digest_object(object.pickle, object.buffers);
    result = self->hold_object(id, std::move(object), send_now);
  }
  value_of(std::move(result));
  return py::make_tuple(id.hex(), size, std::make_unique<Hold>(self, id));
}

// (how many news, exception or None): what a signal handler raised must not lose the news that came with it.
py::tuple wait(Client& self, const py::bytes& task, std::int64_t deadline_ns, const py::object& queue) {
  const TaskId id = to_id<TaskId>(std::string_view(task));
  const TimePoint deadline =
      deadline_ns < 0 ? TimePoint::max() : TimePoint(std::chrono::nanoseconds(deadline_ns));
  Result<void> waited;
  {
    WithoutGil released;
    waited = self.wait(id, deadline, [&] { return released.signal_raised(); });
  }
  py::object raised = py::none();
  if (PyErr_Occurred()) raised = py::error_already_set().value();
  let_go().drain();
  value_of(std::move(waited));
  return py::make_tuple(hand_over(self.drain_waited(), queue), raised);
}

py::object state(Client& self, const py::bytes& task) {
  const TaskId id = to_id<TaskId>(std::string_view(task));
  Result<std::optional<task::TaskState>> state;
  {
    const WithoutGil released;
    state = self.state(id);
  }
  const auto known = value_of(std::move(state));
  constexpr const char* kWords[] = {"waiting", "sent", "running"};
  return known ? py::object(py::str(kWords[static_cast<int>(*known)])) : py::object(py::none());
}

}  // namespace

void bind_client(py::module_& m) {
  py::class_<Memory>(m, "Memory", py::buffer_protocol(), "Writable bytes of a result.")
      .def_buffer([](Memory& memory) {
        return py::buffer_info(reinterpret_cast<std::uint8_t*>(memory.bytes.data()),
                               static_cast<py::ssize_t>(memory.bytes.size()), false);
      })
      .def("__len__", [](const Memory& memory) { return memory.bytes.size(); });
  py::class_<Hold>(m, "Hold", "Keeps an object's data with the client.");

  m.def("digest", [](const py::buffer& bytes) {
    const py::buffer_info view = bytes.request();
    const std::span data(static_cast<const std::byte*>(view.ptr), static_cast<std::size_t>(view.size * view.itemsize));
    return to_python(FunctionId(client::digest(data)));
  }, "XXH3-128 of some bytes, 16 bytes.");

  py::class_<Client, std::shared_ptr<Client>> bound(m, "Client");
  bound
      .def(py::init(&make_client), py::kw_only(), py::arg("host"), py::arg("directory"), py::arg("interpreter"),
           py::arg("environment"), py::arg("pounce"), py::arg("python"), py::arg("cloudpickle"), py::arg("carries"),
           py::arg("interpreter_named") = false)
      .def("set_daemon",
           [](Client& self, const std::string& endpoint) {
             const auto file = value_of(protocol::decode_endpoint_file(endpoint));
             without_gil([&] { return self.set_daemon(file); });
           })
      .def("daemon_failed",
           [](Client& self, const std::string& code, const std::string& text, const std::string& remedy,
              const std::map<std::string, std::string>& context) {
             const Error error{error_code_from_wire(code), text, remedy, context};
             without_gil([&] { return self.daemon_failed(error); });
           })
      .def("submit", &submit, py::arg(), py::arg(), py::arg(), py::arg(), py::arg(), py::arg(), py::arg(), py::arg("again") = "")
      .def("tell",
           [](Client& self, const py::bytes& task, const py::bytes& text) {
             const TaskId id = to_id<TaskId>(std::string_view(task));
             const std::vector<Buffer> message{to_buffer(text, true)};
             without_gil([&] { return self.tell(id, message); });
           })
      .def("cancel",
           [](Client& self, const py::bytes& task, std::uint32_t grace_ms) {
             const TaskId id = to_id<TaskId>(std::string_view(task));
             without_gil([&] { return self.cancel(id, std::chrono::milliseconds(grace_ms)); });
           })
      .def("state", &state)
      .def("lease_status",
           [](Client& self, const py::bytes& task) {
             const TaskId id = to_id<TaskId>(std::string_view(task));
             return to_python(without_gil([&] { return self.lease_status(id); }));
           })
      .def("leases",
           [](Client& self) {
             py::list leases;
             for (const protocol::LeaseStatus& status : without_gil([&] { return self.leases(); })) leases.append(to_python(std::optional(status)));
             return leases;
           })
      .def("move",
           [](Client& self, const py::bytes& task, const ResourceTuple& resources) {
             const TaskId id = to_id<TaskId>(std::string_view(task));
             return without_gil([&] { return self.move(id, to_resources(resources)); });
           })
      .def("want",
           [](Client& self, const py::bytes& task) -> std::optional<std::uint32_t> {
             const TaskId id = to_id<TaskId>(std::string_view(task));
             const auto want = without_gil([&] { return self.want(id); });
             return want ? std::optional(want->value) : std::nullopt;
           })
      .def("hold", &hold)
      .def("wait", &wait)
      .def("drain", [](Client& self, const py::object& queue) { return hand_over(self.drain(), queue); })
      .def("wait_for_news",
           [](Client& self) {
             const WithoutGil released;
             return self.wait_for_news();
           })
      .def("close", [](Client& self) {
        const WithoutGil released;
        self.close();
      });
  bind_questions(bound);
}

}  // namespace pounce
