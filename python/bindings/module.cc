// The extension module pounce._core: thin bindings, one file per side; and the error list as data: Python builds its
// exception classes from it (python/pounce/errors.py), so the two sides cannot drift.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>

#include "base/durations.h"
#include "base/text.h"
#include "bindings.h"
#include "events.h"
#include "pounce/error.h"
#include "pounce/version.h"
#include "records.h"
#include "tls/stream.h"

namespace py = pybind11;

namespace pounce {

void raise_error(const Error& error) {
  const py::object exception = py::module_::import("pounce.errors").attr("of")(error);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw py::error_already_set();
}

void bind_errors(py::module_& m) {
  py::list codes;
#define POUNCE_APPEND(enumerator, wire, python, remedy) codes.append(ErrorCodeRow{wire, python, remedy});
  POUNCE_ERROR_CODES(POUNCE_APPEND)
#undef POUNCE_APPEND
  m.attr("ERROR_CODES") = py::tuple(codes);
}

}  // namespace pounce

PYBIND11_MODULE(_core, m) {
  m.doc() = "pounce's C++ part. Private: use the package pounce.";
  m.attr("__version__") = pounce::kVersion;
  m.attr("PROTOCOL") = pounce::kProtocolVersion;
  m.attr("OPENSSL") = pounce::tls::library_version();
  m.def("printable", [](const std::string& text) { return pounce::printable(text); });
  m.def("duration_s", [](const std::string& text) { return pounce::duration_s(text); });
  m.def("time_limit_s", [](const std::string& text) { return pounce::time_limit_s(text); });
  pounce::bind_records(m);
  pounce::bind_errors(m);
  pounce::bind_buffers(m);
  pounce::bind_client(m);
  pounce::bind_device_memory(m);
  pounce::bind_worker(m);
}
