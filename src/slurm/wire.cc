#include "slurm/wire.h"

#include <optional>

#include "model/json.h"

namespace pounce::slurm {
namespace {

using nlohmann::json;

tl::unexpected<Error> malformed(const std::string& what) {
  return failure(ErrorCode::kProtocol, "malformed record between pounced and pounce-slurm: " + what);
}

template <class QuestionType>
bool read_as(const json& record, std::optional<Question>& question) {
  if (record.at("ask") != QuestionType::kName) return false;
  question = model::from_json<QuestionType>(record.at("of"));
  return true;
}

template <class... QuestionTypes>
std::optional<Question> question_of(const json& record, const std::variant<QuestionTypes...>*) {
  std::optional<Question> question;
  (read_as<QuestionTypes>(record, question) || ...);
  return question;
}

template <class QuestionType>
json written(const std::any& answer, const QuestionType&) {
  return model::to_json(std::any_cast<const typename QuestionType::Answer&>(answer));
}

template <class QuestionType>
std::any read(const json& answer, const QuestionType&) {
  return model::from_json<typename QuestionType::Answer>(answer);
}

}  // namespace

std::string encode(const Request& request) {
  return std::visit(
      [&](const auto& question) {
        return model::dump({{"id", request.id}, {"ask", question.kName}, {"of", model::to_json(question)}});
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

std::string encode(const Answer& answer, const Question& question) {
  json object = {{"id", answer.id}};
  if (answer.value)
    object["answer"] = std::visit([&](const auto& one) { return written(*answer.value, one); }, question);
  else
    object["error"] = model::to_json(answer.value.error());
  return model::dump(object);
}

Result<Answer> decode_answer(std::string_view record, const Question& question) {
  try {
    const json object = json::parse(record);
    Answer answer{model::from_json<std::uint64_t>(object.at("id")), {}};
    if (object.contains("error"))
      answer.value = failure(model::from_json<Error>(object.at("error")));
    else
      answer.value = std::visit([&](const auto& one) { return read(object.at("answer"), one); }, question);
    return answer;
  } catch (const json::exception& e) {
    return malformed(e.what());
  }
}

}  // namespace pounce::slurm
