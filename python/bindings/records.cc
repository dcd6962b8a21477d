// The kinds of values that are records in Python, each after those that it holds. _core.pyi names their fields; a
// test compares.
#include "records.h"

#include "bindings.h"
#include "client/calls.h"
#include "events.h"
#include "saved_state/manifest.h"

namespace pounce {

using records::define;

namespace {

// The upper bound of each number: {"gpus": 4096, …}
template <class T>
pybind11::dict most() {
  pybind11::dict all;
  const T defaults{};
  for_each_field(defaults, [&all](const auto& field, const auto&) {
    if (field.bounds != Bounds{}) all[records::name_in_python(field.name).c_str()] = field.bounds.most;
  });
  return all;
}

// Fields that sbatch takes as they are, by its names: {"not_nodes": "exclude", …}
template <class T>
pybind11::dict sbatch_options() {
  pybind11::dict all;
  const T defaults{};
  for_each_field(defaults, [&all](const auto& field, const auto&) {
    if (!field.option.empty()) all[records::name_in_python(field.name).c_str()] = std::string(field.option);
  });
  return all;
}

}  // namespace

void bind_records(pybind11::module_& m) {
  define<ErrorCodeRow>(m, "ErrorCode");
  define<Cause>(m, "Cause");
  define<Error>(m, "Error");
  define<Resources>(m, "Resources");
  m.attr("MOST") = most<Resources>();
  m.attr("SBATCH_OPTIONS") = sbatch_options<Resources>();
  m.attr("MANIFEST_FORMAT") = saved_state::kManifestFormat;
  m.attr("MOST_MANIFEST_BYTES") = saved_state::kMostManifestBytes;
  define<LimitUse>(m, "LimitUse");
  define<Eta>(m, "Eta");
  define<Choice>(m, "Choice");
  define<ClassUse>(m, "ClassUse");
  define<GpuUse>(m, "GpuUse");
  define<model::RunFigures>(m, "RunFigures");
  define<client::Timings>(m, "Timings");

  define<protocol::LeaseStatus>(m, "LeaseStatus");
  define<protocol::QueueRow>(m, "QueueRow");
  define<protocol::QueueIs>(m, "QueueIs");
  define<protocol::ClassesIs>(m, "ClassesIs");
  define<protocol::StatusIs>(m, "StatusIs");
  define<protocol::DetachedRow>(m, "DetachedRow");
  define<protocol::DetachedList>(m, "DetachedList");

  define<EndedEvent>(m, "Ended");
  define<PrintedEvent>(m, "Printed");
  define<MessageEvent>(m, "Message");
  define<client::Told>(m, "Told");
  define<client::StatusChanged>(m, "StatusChanged");
  define<client::GivenBack>(m, "GivenBack");
  define<client::DaemonNeeded>(m, "DaemonNeeded");

  define<Waited>(m, "Waited");
  define<PickledObject>(m, "PickledObject");
  define<JobParts>(m, "JobParts");
  define<JobOutcome>(m, "JobOutcome");
}

}  // namespace pounce
