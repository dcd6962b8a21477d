// Fills in the sentences of a value. Between processes and in files, codes and numbers say why something is so; a
// field beside them is for the sentence and stays empty until the program that shows the value fills it in. Pure.
// Thread: any.
#pragma once

#include <optional>
#include <vector>

#include "model/job.h"
#include "model/status_document.h"
#include "pounce/error.h"
#include "protocol/messages.h"

namespace pounce::messages {

// One for each type that has a sentence.
void say(Error& error);
void say(Eta& eta);
void say(Choice& choice);
void say(protocol::LeaseStatus& status);
void say(protocol::QueueRow& row);
void say(protocol::DetachedRow& row);
void say(protocol::StatusIs& answer);
void say(model::HistoryLine& line);
void say(model::LeaseRow& lease);
void say(model::EndedLease& lease);

template <class T>
void put_words(T&) {}
template <class T>
void put_words(std::optional<T>& value);
template <class T>
void put_words(std::vector<T>& values);

// Fills in its own sentence and those of all that it holds.
template <HasFields T>
void put_words(T& value) {
  for_each_field(value, [](const auto&, auto& member) { put_words(member); });
  if constexpr (requires { say(value); }) say(value);
}
template <class T>
void put_words(std::optional<T>& value) {
  if (value) put_words(*value);
}
template <class T>
void put_words(std::vector<T>& values) {
  for (T& value : values) put_words(value);
}

template <class T>
T with_words(T value) {
  put_words(value);
  return value;
}

}  // namespace pounce::messages
