// The parts that module.cc puts together.
#pragma once

#include <pybind11/pybind11.h>

namespace pounce {

void bind_errors(pybind11::module_& m);
void bind_client(pybind11::module_& m);
void bind_worker(pybind11::module_& m);

}  // namespace pounce
