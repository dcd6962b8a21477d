#include "messages/put_words.h"

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

std::string with_given_time(const std::string& reason, std::chrono::minutes given) {
  if (given.count() == 0) return reason;
  return reason + (reason.empty() ? "" : "; ") + "Slurm gives this job " + std::to_string(given.count()) +
         " min, another time than was requested";
}

}  // namespace

void say(protocol::LeaseStatus& status) {
  status.reason =
      with_given_time(reason(status.cause, status.class_name, status.wait, status.not_before_s), status.given_time);
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
  lease.reason = with_given_time(reason(lease.cause, lease.resources.class_name, lease.wait, lease.not_before_s),
                                 lease.given_time);
  if (lease.used) lease.used->suggestion = suggestion(lease.resources, lease.used->figures, false);
}

void say(model::EndedLease& lease) {
  if (lease.cause) lease.reason = sentence(lease.cause);  // a line of an older pounced has words only
  lease.used.suggestion = suggestion(lease.resources, lease.used.figures, true);
}

}  // namespace pounce::messages
