// The extension module pounce._core: thin bindings, one file per side.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>

#include "base/durations.h"
#include "base/printable.h"
#include "bindings.h"
#include "pounce/version.h"
#include "tls/library_version.h"

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
  pounce::bind_client(m);
  pounce::bind_device_memory(m);
  pounce::bind_worker(m);
}
