// What crosses between Python and C++ beside the values that travel: events with memory of Python's in them, answers of
// more than one part, and the client's questions to pounced. Their tables make them records as all others (records.h).
// With the GIL.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "bindings.h"
#include "client/calls.h"
#include "client/client.h"
#include "model/ids.h"
#include "model/task.h"
#include "pounce/error.h"
#include "pounce/fields.h"

namespace pounce {

struct EndedEvent {
  TaskId task;
  bool ok = false;
  Error error;
  bool raised = false;
  pybind11::object pickle = pybind11::bytes();
  pybind11::list buffers = pybind11::list();
  pybind11::object timings = pybind11::bytes();  // packed, or a Timings; empty: it has not run to its end

  static constexpr auto fields() {
    return table(field("task", &EndedEvent::task), field("ok", &EndedEvent::ok), field("error", &EndedEvent::error),
                 field("raised", &EndedEvent::raised), field("pickle", &EndedEvent::pickle),
                 field("buffers", &EndedEvent::buffers), field("timings", &EndedEvent::timings));
  }
};

struct PrintedEvent {
  TaskId task;
  bool to_stderr = false;
  pybind11::bytes text = pybind11::bytes();

  static constexpr auto fields() {
    return table(field("task", &PrintedEvent::task), field("to_stderr", &PrintedEvent::to_stderr),
                 field("text", &PrintedEvent::text));
  }
};

struct MessageEvent {  // a Jupyter message
  TaskId task;
  pybind11::bytes text = pybind11::bytes();  // its JSON
  pybind11::list buffers = pybind11::list();

  static constexpr auto fields() {
    return table(field("task", &MessageEvent::task), field("text", &MessageEvent::text),
                 field("buffers", &MessageEvent::buffers));
  }
};

struct Waited {
  std::size_t events = 0;
  pybind11::object raised = pybind11::none();  // by a signal handler; the events that came with it must not be lost

  static constexpr auto fields() { return table(field("events", &Waited::events), field("raised", &Waited::raised)); }
};

struct PickledObject {
  pybind11::object pickle = pybind11::bytes();
  pybind11::list buffers = pybind11::list();

  static constexpr auto fields() {
    return table(field("pickle", &PickledObject::pickle), field("buffers", &PickledObject::buffers));
  }
};

struct JobParts {                                 // the parts of a call
  pybind11::object function = pybind11::bytes();  // its digest
  bool command = false;
  std::string kept_in;
  std::string settings;  // the object with its kernel's settings; empty: it comes with none
  std::int64_t received_ns = 0;
  pybind11::object pickle = pybind11::bytes();
  pybind11::list buffers = pybind11::list();

  static constexpr auto fields() {
    return table(field("function", &JobParts::function), field("command", &JobParts::command),
                 field("kept_in", &JobParts::kept_in), field("settings", &JobParts::settings),
                 field("received_ns", &JobParts::received_ns), field("pickle", &JobParts::pickle),
                 field("buffers", &JobParts::buffers));
  }
};

// The outcome of a job that Python has run.
struct JobOutcome {
  bool ok = false;
  pybind11::object pickle = pybind11::bytes();
  pybind11::object buffers = pybind11::tuple();
  Error error;
  model::RunFigures figures;

  static constexpr auto fields() {
    return table(field("ok", &JobOutcome::ok), field("pickle", &JobOutcome::pickle),
                 field("buffers", &JobOutcome::buffers), field("error", &JobOutcome::error),
                 field("figures", &JobOutcome::figures));
  }
};

// What a client asks about the interpreter. `number` 0: no question came in time.
struct LookQuestion {
  SessionId session;
  std::uint32_t number = 0;
  pybind11::bytes text = pybind11::bytes();  // JSON

  static constexpr auto fields() {
    return table(field("session", &LookQuestion::session), field("number", &LookQuestion::number),
                 field("text", &LookQuestion::text));
  }
};

struct ErrorCodeRow {
  std::string code, name, remedy;

  static constexpr auto fields() {
    return table(field("code", &ErrorCodeRow::code), field("name", &ErrorCodeRow::name),
                 field("remedy", &ErrorCodeRow::remedy));
  }
};

// The client's questions to pounced, bound in questions.cc. Thread: any, with the GIL.
template <class Act>
auto with_engine(client::Client& self, Act act) {
  return without_gil([&] { return self.with_engine(std::move(act)); });
}

template <class Answer, class... Arguments>
auto of_engine(Answer (client::Engine::*method)(Arguments...)) {
  return [method](client::Client& self, std::decay_t<Arguments>... arguments) {
    return with_engine(self, [&](client::Engine& engine) { return (engine.*method)(std::move(arguments)...); });
  };
}
template <class Answer, class... Arguments>
auto of_engine(Answer (client::Engine::*method)(Arguments...) const) {
  return [method](client::Client& self, std::decay_t<Arguments>... arguments) {
    return with_engine(self, [&](const client::Engine& engine) { return (engine.*method)(std::move(arguments)...); });
  };
}

void bind_questions(pybind11::class_<client::Client, std::shared_ptr<client::Client>>& bound);

}  // namespace pounce
