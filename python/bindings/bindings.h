// The parts of the extension module that module.cc puts together.
#pragma once

#include <pybind11/pybind11.h>

namespace pounce {

void bind_records(pybind11::module_& m);  // before the others
void bind_errors(pybind11::module_& m);
void bind_client(pybind11::module_& m);
void bind_device_memory(pybind11::module_& m);
void bind_worker(pybind11::module_& m);

// Releases the GIL during its lifetime.
class WithoutGil {
 public:
  WithoutGil() : saved_(PyEval_SaveThread()) {}
  // When the interpreter ends, a daemon thread ends here by a forced unwinding: noexcept would abort the process.
  ~WithoutGil() noexcept(false) { PyEval_RestoreThread(saved_); }
  // True if a signal handler raised: Python's error indicator is set.
  bool signal_raised() {
    PyEval_RestoreThread(saved_);
    const bool raised = PyErr_CheckSignals() != 0;
    saved_ = PyEval_SaveThread();
    return raised;
  }

 private:
  PyThreadState* saved_;
};

}  // namespace pounce
