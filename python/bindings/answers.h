// pounced's answers and errors as tuples, which python/pounce names the fields of. All with the GIL.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>

#include "client/news.h"
#include "pounce/error.h"

namespace pounce {

pybind11::tuple to_python(const Error& error);
pybind11::object or_none(const Error& error);  // None where it has no text

pybind11::tuple to_python(const protocol::QueueIs& queue);
pybind11::tuple to_python(const protocol::ClassesIs& answer);
pybind11::tuple to_python(const protocol::StatusIs& answer);
pybind11::tuple to_python(const protocol::NamesAre& names);
pybind11::object to_python(const std::optional<protocol::LeaseStatus>& status);

}  // namespace pounce
