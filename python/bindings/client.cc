#include "bindings.h"

namespace pounce {

void bind_client(pybind11::module_&) {}

}  // namespace pounce
