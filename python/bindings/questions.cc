#include <cstdint>
#include <string>

#include "events.h"
#include "records.h"

namespace py = pybind11;

namespace pounce {
namespace {

using client::Client;

std::uint32_t ask(Client& self, std::uint32_t connection, const protocol::Header& question) {
  return with_engine(self, [&](client::Engine& engine) { return engine.ask(question, connection); });
}

// Asks what this waiting task could request instead.
std::uint32_t ask_choices(Client& self, std::uint32_t request, std::uint32_t connection, const TaskId& task,
                          const Resources& resources) {
  const auto status = with_engine(self, [&](client::Engine& engine) { return engine.lease_status(task); });
  protocol::ClassesAsk question{request, true, resources, {}, {}};
  if (status) question.limit = status->wait.limit, question.eta = status->wait.eta;
  return ask(self, connection, question);
}

std::uint32_t submit_detached(Client& self, std::uint32_t request, std::uint32_t connection, const std::string& name,
                              const TaskId& task, const Resources& resources, std::uint32_t retries) {
  return ask(self, connection, protocol::SubmitDetached{request, name, task, resources, retries});
}

}  // namespace

// `connection` and the result number the connection that has the question, 0 for none.
void bind_questions(py::class_<Client, std::shared_ptr<Client>>& bound) {
  bound
      .def(
          "ask_queue",
          [](Client& self, std::uint32_t request, std::uint32_t connection) {
            return ask(self, connection, protocol::QueueAsk{request});
          },
          "(request: int, connection: int, /) -> int")
      .def(
          "ask_classes",
          [](Client& self, std::uint32_t request, std::uint32_t connection) {
            protocol::ClassesAsk question;
            question.question = request;
            return ask(self, connection, question);
          },
          "(request: int, connection: int, /) -> int")
      .def(
          "ask_status",
          [](Client& self, std::uint32_t request, std::uint32_t connection) {
            return ask(self, connection, protocol::StatusAsk{request});
          },
          "(request: int, connection: int, /) -> int")
      .def("ask_choices", &ask_choices, "(request: int, connection: int, task: str, resources: Resources, /) -> int")
      .def("submit_detached", &submit_detached,
           "(request: int, connection: int, name: str, task: str, resources: Resources, retries: int, /) -> int")
      .def(
          "ask_detached",
          [](Client& self, std::uint32_t request, std::uint32_t connection, const std::string& name) {
            return ask(self, connection, protocol::DetachedAsk{request, name});
          },
          "(request: int, connection: int, name: str, /) -> int")
      .def(
          "cancel_detached",
          [](Client& self, std::uint32_t request, std::uint32_t connection, const std::string& name, bool forget) {
            return ask(self, connection, protocol::CancelDetached{request, name, forget});
          },
          "(request: int, connection: int, name: str, forget: bool, /) -> int")
      .def(
          "relay_detached",
          [](Client& self, std::uint32_t request, std::uint32_t connection, const std::string& name, bool ok,
             const std::string& digest, const std::string& trouble) {
            protocol::RelayDetached relay{request, name, ok, digest, {}};
            if (!trouble.empty()) relay.error = {ErrorCode::kResultGone, trouble, {}, {}};
            return ask(self, connection, relay);
          },
          "(request: int, connection: int, name: str, ok: bool, digest: str, trouble: str, /) -> int");
}

}  // namespace pounce
