#include "questions.h"

#include <pybind11/stl.h>

#include <cstdint>
#include <string>

#include "convert.h"
#include "resources.h"

namespace py = pybind11;

namespace pounce {
namespace {

using client::Client;

std::uint32_t ask(Client& self, std::uint32_t asked, const protocol::Header& question) {
  return without_gil([&] { return self.ask(question, asked); });
}

// What this task, which waits, could ask for instead.
std::uint32_t ask_choices(Client& self, std::uint32_t request, std::uint32_t asked, const py::bytes& task, const ResourceTuple& resources) {
  const TaskId id = to_id<TaskId>(std::string_view(task));
  const auto status = without_gil([&] { return self.lease_status(id); });
  protocol::ClassesAsk question{request, true, to_resources(resources), {}, {}};
  if (status) question.limit = status->limit, question.eta = status->eta;
  return ask(self, asked, question);
}

std::uint32_t name_task(Client& self, std::uint32_t request, std::uint32_t asked, const std::string& name,
                        const std::string& task, const ResourceTuple& resources, std::uint32_t retries) {
  return ask(self, asked, protocol::NameTask{request, name, hex_to_id<TaskId>(task), to_resources(resources), retries});
}

}  // namespace

void bind_questions(py::class_<Client, std::shared_ptr<Client>>& bound) {
  bound
      .def("ask_queue",
           [](Client& self, std::uint32_t request, std::uint32_t asked) { return ask(self, asked, protocol::QueueAsk{request}); })
      .def("ask_classes",
           [](Client& self, std::uint32_t request, std::uint32_t asked) {
             protocol::ClassesAsk question;
             question.request = request;
             return ask(self, asked, question);
           })
      .def("ask_status",
           [](Client& self, std::uint32_t request, std::uint32_t asked) { return ask(self, asked, protocol::StatusAsk{request}); })
      .def("ask_choices", &ask_choices)
      .def("name_task", &name_task)
      .def("ask_names",
           [](Client& self, std::uint32_t request, std::uint32_t asked, const std::string& name) {
             return ask(self, asked, protocol::NameAsk{request, name});
           })
      .def("end_name",
           [](Client& self, std::uint32_t request, std::uint32_t asked, const std::string& name, bool forget) {
             return ask(self, asked, protocol::NameEnd{request, name, forget});
           })
      .def("carry_name",
           [](Client& self, std::uint32_t request, std::uint32_t asked, const std::string& name, bool ok,
              const std::string& digest, const std::string& trouble) {
             protocol::NameCarry carry{request, name, ok, digest, {}};
             if (!trouble.empty()) carry.error = {ErrorCode::kResultGone, trouble, {}, {}};
             return ask(self, asked, carry);
           });
}

}  // namespace pounce
