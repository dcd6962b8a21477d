#include "messages/put_words.h"

#include <string>

#include "messages/sentence.h"
#include "messages/waiting_words.h"
#include "model/json.h"

namespace pounce::messages {

void say(Error& error) {
  error.text = text(error);
  if (error.remedy.empty()) error.remedy = remedy(error.cause);
}

void say(Eta& eta) {
  if (eta.from != Eta::From::kNothing) eta.basis = basis(eta);
}

void say(Choice& choice) { choice.against = sentence(choice.cause); }

namespace {

std::string given_words(const model::Given& given) {
  std::string parts;
  const auto add = [&](std::uint64_t count, const char* unit) {
    if (count > 0) parts += (parts.empty() ? "" : ", ") + std::to_string(count) + " " + unit;
  };
  add(given.gpus, given.gpus == 1 ? "GPU" : "GPUs");
  add(given.cpus, "CPUs");
  add(given.memory_mib, "MiB of memory");
  const bool only_time = parts.empty();
  add(static_cast<std::uint64_t>(given.time.count()), "min");
  if (parts.empty()) return {};
  return "Slurm gives this job " + parts +
         (only_time ? ", another time than was requested" : ", not what was requested");
}

// Puts the words of what is given, and repeats them in the reason.
void put_given(model::Given& given, std::string& reason) {
  given.words = given_words(given);
  if (!given.words.empty()) reason += (reason.empty() ? "" : "; ") + given.words;
}

}  // namespace

void say(protocol::LeaseStatus& status) {
  status.reason = reason(status.cause, status.class_name, status.wait, status.not_before_s);
  put_given(status.given, status.reason);
}

void say(protocol::QueueRow& row) {
  if (!row.word.empty()) row.why = waiting_words({row.word, row.reason, row.class_name, row.limit, row.ahead, {}});
}

void say(protocol::DetachedRow& row) { row.reason = reason(row.cause, row.class_name, row.wait); }

void say(protocol::StatusIs& answer) {
  auto status = model::parse<model::StatusDocument>(answer.document);
  if (!status) return;
  put_words(*status);
  answer.document = model::to_text(*status);
}

void say(model::HistoryLine& line) {
  const std::string words = sentence(line.cause);
  line.what = line.from.empty() ? words : line.from + " -> " + line.to + ": " + words;
}

void say(model::LeaseRow& lease) {
  lease.reason = reason(lease.cause, lease.resources.class_name, lease.wait, lease.not_before_s);
  put_given(lease.given, lease.reason);
  if (lease.used) lease.used->suggestion = suggestion(lease.resources, lease.used->figures, false);
}

void say(model::EndedLease& lease) {
  if (lease.cause) lease.reason = sentence(lease.cause);  // a line of an older pounced has words only
  lease.used.suggestion = suggestion(lease.resources, lease.used.figures, true);
}

}  // namespace pounce::messages
