#include "answers.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace pounce {

namespace {

py::object to_python(const Eta& eta) {
  if (!eta.known()) return py::none();
  return py::make_tuple(eta.start_s, eta.low_s, eta.high_s, eta.basis);
}

py::object to_python(const LimitUse& use) {
  if (use.what.empty()) return py::none();
  return py::make_tuple(use.what, use.most, use.used, use.asked);
}

py::tuple to_python(const Choice& choice) {
  const Resources& r = choice.resources;
  return py::make_tuple(choice.kind, choice.option,
                        py::make_tuple(r.class_name, r.gpus, r.gpu_type, r.cpus, r.memory_mib, r.time.count(), r.workers),
                        choice.now, to_python(choice.eta), choice.against);
}

}  // namespace

py::tuple to_python(const Error& error) {
  return py::make_tuple(wire_name(error.code), error.text, error.remedy, error.context);
}

py::object or_none(const Error& error) {
  return error.text.empty() ? py::object(py::none()) : py::object(to_python(error));
}

py::tuple to_python(const protocol::QueueIs& queue) {
  py::list rows;
  for (const protocol::QueueRow& row : queue.rows)
    rows.append(py::make_tuple(row.job, row.name, row.class_name, row.state, row.reason, row.node, row.devices, row.lease,
                               row.submit_time_s, row.start_time_s, row.end_time_s, row.why));
  return py::make_tuple("queue", queue.request, rows, or_none(queue.error), queue.launcher);
}

py::tuple to_python(const protocol::ClassesIs& answer) {
  py::list classes, gpus, choices;
  for (const ClassUse& use : answer.classes)
    classes.append(py::make_tuple(use.name, use.preset, use.time_min, use.jobs_most, use.jobs_used, use.submits_most,
                                  use.submits_used, use.gpus_most, use.gpus_used, use.gpus_job, use.instead));
  for (const GpuUse& use : answer.gpus) gpus.append(py::make_tuple(use.type, use.total, use.free, to_python(use.eta)));
  for (const Choice& choice : answer.choices) choices.append(to_python(choice));
  return py::make_tuple("classes", answer.request, classes, gpus, choices, or_none(answer.error), answer.launcher);
}

py::tuple to_python(const protocol::StatusIs& answer) { return py::make_tuple("document", answer.request, answer.document); }

py::tuple to_python(const protocol::NamesAre& names) {
  py::list rows;
  for (const protocol::NamedRow& row : names.rows)
    rows.append(py::make_tuple(row.name, row.task.hex(), row.state, row.reason, row.lease.hex(), row.job, row.node, row.carried,
                               row.ok, row.digest, row.size, row.submit_time_s, row.end_time_s, or_none(row.error), row.class_name, row.slurm_reason,
                               row.ahead, row.start_estimate_s, to_python(row.limit), to_python(row.eta)));
  return py::make_tuple("names", names.request, rows, or_none(names.error));
}

py::object to_python(const std::optional<protocol::LeaseStatus>& status) {
  if (!status) return py::none();
  return py::make_tuple(status->lease.hex(), status->state, status->reason, status->job, status->node, status->devices,
                        status->start_estimate_s, status->end_time_s, status->class_name, status->slurm_reason,
                        status->ahead, to_python(status->limit), to_python(status->eta));
}

}  // namespace pounce
