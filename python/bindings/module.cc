// The extension module pounce._core: thin bindings, one file per side; the kinds of values that are records in Python;
// and the error list as data, of which python/pounce/errors.py builds its exception classes, so that the two sides
// cannot drift. What each function's own text begins with is its signature: make_stub.py makes _core.pyi of these.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>

#include "base/durations.h"
#include "base/text.h"
#include "bindings.h"
#include "client/calls.h"
#include "events.h"
#include "pounce/error.h"
#include "pounce/version.h"
#include "records.h"
#include "saved_state/manifest.h"
#include "tls/stream.h"

namespace py = pybind11;

namespace pounce {

void raise_error(const Error& error) {
  const py::object exception = py::module_::import("pounce.errors").attr("of")(error);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw py::error_already_set();
}

namespace {

// ---- records: the kinds of values, each after those that it holds ---------------------------------------------------

// The upper bound of each number: {"gpus": 4096, …}
template <class T>
py::dict most() {
  py::dict all;
  const T defaults{};
  for_each_field(defaults, [&all](const auto& field, const auto&) {
    if (field.bounds != Bounds{}) all[records::name_in_python(field.name).c_str()] = field.bounds.most;
  });
  return all;
}

// Fields that sbatch takes as they are, by its names: {"not_nodes": "exclude", …}
template <class T>
py::dict sbatch_options() {
  py::dict all;
  const T defaults{};
  for_each_field(defaults, [&all](const auto& field, const auto&) {
    if (!field.option.empty()) all[records::name_in_python(field.name).c_str()] = std::string(field.option);
  });
  return all;
}

void bind_records(py::module_& m) {
  using records::define;
  define<ErrorCodeRow>(m, "ErrorCode");
  define<Cause>(m, "Cause");
  define<Error>(m, "Error");
  define<Resources>(m, "Resources");
  m.attr("MOST") = most<Resources>();
  m.attr("SBATCH_OPTIONS") = sbatch_options<Resources>();
  m.attr("MANIFEST_FORMAT") = saved_state::kManifestFormat;
  m.attr("MOST_MANIFEST_BYTES") = saved_state::kMostManifestBytes;
  define<LimitUse>(m, "LimitUse");
  define<Eta>(m, "Eta");
  define<Choice>(m, "Choice");
  define<ClassUse>(m, "ClassUse");
  define<GpuUse>(m, "GpuUse");
  define<model::RunFigures>(m, "RunFigures");
  define<client::Timings>(m, "Timings");

  define<protocol::LeaseStatus>(m, "LeaseStatus");
  define<protocol::QueueRow>(m, "QueueRow");
  define<protocol::QueueIs>(m, "QueueIs");
  define<protocol::ClassesIs>(m, "ClassesIs");
  define<protocol::StatusIs>(m, "StatusIs");
  define<protocol::DetachedRow>(m, "DetachedRow");
  define<protocol::DetachedList>(m, "DetachedList");

  define<EndedEvent>(m, "Ended");
  define<PrintedEvent>(m, "Printed");
  define<MessageEvent>(m, "Message");
  define<client::Told>(m, "Told");
  define<client::StatusChanged>(m, "StatusChanged");
  define<client::GivenBack>(m, "GivenBack");
  define<client::DaemonNeeded>(m, "DaemonNeeded");

  define<Waited>(m, "Waited");
  define<PickledObject>(m, "PickledObject");
  define<JobParts>(m, "JobParts");
  define<LookQuestion>(m, "LookQuestion");
  define<JobOutcome>(m, "JobOutcome");
}

void bind_errors(py::module_& m) {
  py::list codes;
#define POUNCE_APPEND(enumerator, wire, python, remedy) codes.append(ErrorCodeRow{wire, python, remedy});
  POUNCE_ERROR_CODES(POUNCE_APPEND)
#undef POUNCE_APPEND
  m.attr("ERROR_CODES") = py::tuple(codes);
}

}  // namespace
}  // namespace pounce

PYBIND11_MODULE(_core, m) {
  py::options options;
  options.disable_function_signatures();
  m.doc() = "pounce's C++ part. Private: use the package pounce.";
  m.attr("__version__") = pounce::kVersion;
  m.attr("PROTOCOL") = pounce::kProtocolVersion;
  m.attr("OPENSSL") = pounce::tls::library_version();
  m.def(
      "printable", [](const std::string& text) { return pounce::printable(text); },
      "(text: str, /) -> str\nUntrusted text: nothing in it acts on a terminal (base/text.h).");
  m.def(
      "duration_s", [](const std::string& text) { return pounce::duration_s(text); },
      "(text: str, /) -> float | None\n\"1h30m\", \"1-12:00:00\"; a number alone is none (base/durations.h).");
  m.def(
      "time_limit_s", [](const std::string& text) { return pounce::time_limit_s(text); },
      "(text: str, /) -> float | None\nThe same for a job's time: as sbatch takes it, \"30\" is minutes.");
  pounce::bind_records(m);
  pounce::bind_errors(m);
  pounce::bind_buffers(m);
  pounce::bind_client(m);
  pounce::bind_device_memory(m);
  pounce::bind_worker(m);
}
