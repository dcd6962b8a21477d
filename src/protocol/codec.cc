#include "protocol/codec.h"

#include <unordered_map>
#include <utility>

#include "model/json.h"
#include "pounce/version.h"
#include "protocol/plain_json.h"
#include "protocol/state_files.h"

namespace pounce::protocol {
namespace {

template <class... Messages>
std::optional<std::string> encode_one(const Header& header) {
  PlainWriter out;
  const auto write = [&](const auto* message) { return message != nullptr && out.object(*message); };
  if ((write(std::get_if<Messages>(&header)) || ...)) return out.take();
  return std::nullopt;
}

template <class Message>
bool decode_as(std::string_view bytes, std::optional<Header>& header) {
  PlainReader in(bytes);
  Message message;
  if (!in.object(message) || !in.done()) return false;
  header = std::move(message);
  return true;
}

template <class... Messages>
std::optional<Header> decode_one(std::string_view bytes) {
  std::optional<Header> header;
  (decode_as<Messages>(bytes, header) || ...);
  return header;
}

}  // namespace

std::optional<std::string> encode_hot(const Header& header) { return encode_one<Task, Outcome, Ack>(header); }
std::optional<Header> decode_hot(std::string_view bytes) { return decode_one<Task, Outcome, Ack>(bytes); }

namespace {

using nlohmann::json;

using Parser = Header (*)(const json&);

template <class Message>
Header parse_as(const json& object) {
  return model::from_json<Message>(object);
}

// One row per alternative of Header, made from the variant itself: a new message cannot be forgotten here.
template <class... Messages>
std::unordered_map<std::string_view, Parser> parsers_of(const std::variant<Messages...>*) {
  return {{Messages::kType, &parse_as<Messages>}...};
}

const std::unordered_map<std::string_view, Parser>& parsers() {
  static const auto table = parsers_of(static_cast<const Header*>(nullptr));
  return table;
}

}  // namespace

std::string encode(const Header& header) {
  if (auto hot = encode_hot(header)) return *std::move(hot);
  return encode_generally(header);
}

std::string encode_generally(const Header& header) {
  return std::visit(
      [](const auto& message) {
        json object = model::to_json(message);
        object["v"] = kProtocolVersion;
        object["type"] = message.kType;
        return model::dump(object);
      },
      header);
}

Result<Header> decode(std::string_view bytes, std::size_t limit) {
  if (bytes.size() > limit)
    return failure(ErrorCode::kTooLarge, "a header of " + std::to_string(bytes.size()) +
                                             " bytes is over the limit of " + std::to_string(limit));
  if (auto hot = decode_hot(bytes)) return *std::move(hot);
  return decode_generally(bytes);
}

Result<Header> decode_generally(std::string_view bytes) {
  try {
    const json object = json::parse(bytes);
    if (model::from_json<int>(object.value("v", json(0))) != kProtocolVersion)
      return failure(ErrorCode::kVersionMismatch, "the peer speaks protocol " + object.value("v", json()).dump() +
                                                      ", this side " + std::to_string(kProtocolVersion));
    const std::string type = object.value("type", "");
    const auto parser = parsers().find(type);
    if (parser == parsers().end()) return failure(ErrorCode::kProtocol, "unknown message type '" + type + "'");
    return parser->second(object);
  } catch (const json::exception& e) {
    return failure(ErrorCode::kProtocol, std::string("malformed header: ") + e.what());
  }
}

std::string encode_error(const Error& error) { return model::to_text(error); }
std::string encode_endpoint_file(const EndpointFile& file) { return model::to_text(file); }
std::string encode_detached_record(const DetachedRecord& record) { return model::to_text(record); }

std::optional<DetachedRecord> decode_detached_record(std::string_view text) {
  auto record = model::parse<DetachedRecord>(text);
  return record && record->v == 1 ? std::move(record) : std::nullopt;
}

EndpointLines lines_of(std::string_view text) {
  const auto end_of_line = [](std::string_view line) { return line.substr(0, line.find('\n')); };
  const std::string_view statement = end_of_line(text);
  return {statement, end_of_line(text.substr(std::min(statement.size() + 1, text.size())))};
}

Result<EndpointFile> decode_endpoint_file(std::string_view text) {
  try {
    auto file = model::from_json<EndpointFile>(json::parse(lines_of(text).statement));
    if (file.v != 1)
      return failure(ErrorCode::kVersionMismatch, "an endpoint file of version " + std::to_string(file.v));
    return file;
  } catch (const json::exception& e) {
    return failure(ErrorCode::kProtocol, std::string("malformed endpoint file: ") + e.what());
  }
}

std::string encode_command(const std::vector<std::string>& argv) { return model::to_text(argv); }

Result<int> decode_exit_code(std::string_view text) {
  try {
    return model::from_json<int>(json::parse(text).at("exit_code"));
  } catch (const json::exception& e) {
    return failure(ErrorCode::kProtocol, std::string("malformed end of a command: ") + e.what());
  }
}

}  // namespace pounce::protocol
