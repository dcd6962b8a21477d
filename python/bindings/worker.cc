#include "bindings.h"

namespace pounce {

void bind_worker(pybind11::module_&) {}

}  // namespace pounce
