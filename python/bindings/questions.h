// The client's questions to pounced. Thread: any, with the GIL.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "client/client.h"

namespace pounce {

void bind_questions(pybind11::class_<client::Client, std::shared_ptr<client::Client>>& bound);

}  // namespace pounce
