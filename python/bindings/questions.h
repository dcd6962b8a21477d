// The client's methods are its engine's, without the GIL; and its questions to pounced. Thread: any, with the GIL.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <type_traits>
#include <utility>

#include "client/client.h"
#include "convert.h"

namespace pounce {

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
