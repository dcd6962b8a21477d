// The parts that module.cc puts together.
#pragma once

#include <pybind11/pybind11.h>

namespace pounce {

void bind_records(pybind11::module_& m);  // before the others
void bind_errors(pybind11::module_& m);
void bind_client(pybind11::module_& m);
void bind_device_memory(pybind11::module_& m);
void bind_worker(pybind11::module_& m);

// Lets go of the GIL for its life.
class WithoutGil {
 public:
  WithoutGil() : saved_(PyEval_SaveThread()) {}
  // A daemon thread ends here, by a forced unwinding, when the interpreter ends: noexcept would abort the process.
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
