#include "questions.h"

#include <cstdint>
#include <string>

#include "records.h"

namespace py = pybind11;

namespace pounce {
namespace {

using client::Client;

std::uint32_t ask(Client& self, std::uint32_t asked, const protocol::Header& question) {
  return with_engine(self, [&](client::Engine& engine) { return engine.ask(question, asked); });
}

// What this task, which waits, could ask for instead.
std::uint32_t ask_choices(Client& self, std::uint32_t request, std::uint32_t asked, const TaskId& task, const Resources& resources) {
  const auto status = with_engine(self, [&](client::Engine& engine) { return engine.lease_status(task); });
  protocol::ClassesAsk question{request, true, resources, {}, {}};
  if (status) question.limit = status->wait.limit, question.eta = status->wait.eta;
  return ask(self, asked, question);
}

std::uint32_t submit_detached(Client& self, std::uint32_t request, std::uint32_t asked, const std::string& name,
                        const TaskId& task, const Resources& resources, std::uint32_t retries) {
  return ask(self, asked, protocol::SubmitDetached{request, name, task, resources, retries});
}

}  // namespace

void bind_questions(py::class_<Client, std::shared_ptr<Client>>& bound) {
  bound
      .def("ask_queue",
           [](Client& self, std::uint32_t request, std::uint32_t asked) { return ask(self, asked, protocol::QueueAsk{request}); })
      .def("ask_classes",
           [](Client& self, std::uint32_t request, std::uint32_t asked) {
             protocol::ClassesAsk question;
             question.question = request;
             return ask(self, asked, question);
           })
      .def("ask_status",
           [](Client& self, std::uint32_t request, std::uint32_t asked) { return ask(self, asked, protocol::StatusAsk{request}); })
      .def("ask_choices", &ask_choices)
      .def("submit_detached", &submit_detached)
      .def("ask_detached",
           [](Client& self, std::uint32_t request, std::uint32_t asked, const std::string& name) {
             return ask(self, asked, protocol::DetachedAsk{request, name});
           })
      .def("cancel_detached",
           [](Client& self, std::uint32_t request, std::uint32_t asked, const std::string& name, bool forget) {
             return ask(self, asked, protocol::CancelDetached{request, name, forget});
           })
      .def("relay_detached",
           [](Client& self, std::uint32_t request, std::uint32_t asked, const std::string& name, bool ok,
              const std::string& digest, const std::string& trouble) {
             protocol::RelayDetached relay{request, name, ok, digest, {}};
             if (!trouble.empty()) relay.error = {ErrorCode::kResultGone, trouble, {}, {}};
             return ask(self, asked, relay);
           });
}

}  // namespace pounce
