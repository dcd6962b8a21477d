#include "slurm/wire.h"

#include <optional>

#include "model/json.h"

namespace pounce::slurm {
namespace {

using nlohmann::json;

tl::unexpected<Error> malformed(const std::string& what) {
  return failure(ErrorCode::kProtocol, "malformed record between pounced and pounce-slurm: " + what);
}

template <class Asked>
bool read_as(const json& record, std::optional<Question>& question) {
  if (record.at("ask") != Asked::kName) return false;
  question = model::from_json<Asked>(record.at("of"));
  return true;
}

template <class... Asked>
std::optional<Question> question_of(const json& record, const std::variant<Asked...>*) {
  std::optional<Question> question;
  (read_as<Asked>(record, question) || ...);
  return question;
}

template <class Asked>
json written(const std::any& answer, const Asked&) {
  return model::to_json(std::any_cast<const typename Asked::Answer&>(answer));
}

template <class Asked>
std::any read(const json& answer, const Asked&) {
  return model::from_json<typename Asked::Answer>(answer);
}

}  // namespace

std::string encode(const Request& request) {
  return std::visit(
      [&](const auto& asked) {
        return model::dump({{"id", request.id}, {"ask", asked.kName}, {"of", model::to_json(asked)}});
      },
      request.question);
}

Result<Request> decode_request(std::string_view record) {
  try {
    const json object = json::parse(record);
    auto question = question_of(object, static_cast<const Question*>(nullptr));
    if (!question) return malformed("no such question");
    return Request{model::from_json<std::uint64_t>(object.at("id")), std::move(*question)};
  } catch (const json::exception& e) {
    return malformed(e.what());
  }
}

std::string encode(const Answer& answer, const Question& asked) {
  json object = {{"id", answer.id}};
  if (answer.value)
    object["answer"] = std::visit([&](const auto& one) { return written(*answer.value, one); }, asked);
  else
    object["error"] = model::to_json(answer.value.error());
  return model::dump(object);
}

Result<Answer> decode_answer(std::string_view record, const Question& asked) {
  try {
    const json object = json::parse(record);
    Answer answer{model::from_json<std::uint64_t>(object.at("id")), {}};
    if (object.contains("error"))
      answer.value = failure(model::from_json<Error>(object.at("error")));
    else
      answer.value = std::visit([&](const auto& one) { return read(object.at("answer"), one); }, asked);
    return answer;
  } catch (const json::exception& e) {
    return malformed(e.what());
  }
}

}  // namespace pounce::slurm
