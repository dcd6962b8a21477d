// The error list as data: Python builds its exception classes from it (python/pounce/errors.py), so the two
// sides cannot drift.
#include "pounce/error.h"

#include <pybind11/pybind11.h>

#include "bindings.h"
#include "convert.h"
#include "news.h"
#include "records.h"

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
