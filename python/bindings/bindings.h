// The parts that module.cc puts together, errors of ours as Python exceptions, and calls without the GIL.
#pragma once

#include <pybind11/pybind11.h>

#include <type_traits>
#include <utility>

#include "pounce/error.h"

namespace pounce {

void bind_buffers(pybind11::module_& m);
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

// With the GIL: throws the exception class of that code (python/pounce/errors.py).
[[noreturn]] void raise_error(const Error& error);

template <class T>
T value_of(Result<T> result) {
  if (!result) raise_error(result.error());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

template <class Act>
auto without_gil(Act act) {
  auto result = [&] {
    const WithoutGil released;
    return act();
  }();
  return value_of(std::move(result));
}

}  // namespace pounce
