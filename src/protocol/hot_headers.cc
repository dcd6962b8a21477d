#include "protocol/hot_headers.h"

#include "protocol/plain_reader.h"
#include "protocol/plain_writer.h"

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

}  // namespace pounce::protocol
