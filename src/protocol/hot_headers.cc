#include "protocol/hot_headers.h"

#include <charconv>

#include "pounce/version.h"

namespace pounce::protocol {
namespace {

// Names in alphabetical order, no spaces, as the general codec writes them; version 1 is part of the form.
static_assert(kProtocolVersion == 1, "the literals below say version 1");
constexpr std::string_view kNoError = R"(,"error":{"code":"internal","context":{},"remedy":"","text":""},"ok":true,)"
                                      R"("pickle_follows":)";

class Writer {
 public:
  Writer() { text_.reserve(384); }
  Writer& raw(std::string_view text) {
    text_ += text;
    return *this;
  }
  template <class Number>
  Writer& number(Number value) {
    char digits[24];
    text_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    return *this;
  }
  template <class Id>
  Writer& id(const Id& id) {
    return raw("\"").raw(id.hex()).raw("\"");
  }
  template <class List, class Item>
  Writer& list(const List& values, Item item) {
    raw("[");
    const char* comma = "";
    for (const auto& value : values) {
      raw(comma);
      item(value);
      comma = ",";
    }
    return raw("]");
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// Each step answers whether the text went on as expected.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool raw(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  template <class Number>
  bool number(Number& value) {
    const char* const end = rest_.data() + rest_.size();
    const auto [stop, error] = std::from_chars(rest_.data(), end, value);
    // 1.5 and 1e9 are numbers too, but not of this form: the next raw() finds out. 007 is none in JSON.
    if (error != std::errc() || (stop - rest_.data() > 1 && (rest_[0] == '0' || rest_.starts_with("-0")))) return false;
    rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()));
    return true;
  }
  template <class Id>
  bool id(Id& id) {
    if (!raw("\"")) return false;
    const auto parsed = Id::from_hex(rest_.substr(0, 2 * Id::kBytes));
    if (!parsed) return false;
    id = *parsed;
    rest_.remove_prefix(2 * Id::kBytes);
    return raw("\"");
  }
  template <class Value, class Item>
  bool list(std::vector<Value>& values, Item item) {
    if (!raw("[")) return false;
    if (raw("]")) return true;
    do {
      if (!item(values.emplace_back())) return false;
    } while (raw(","));
    return raw("]");
  }
  bool boolean(bool& value) {
    value = rest_.starts_with("true");
    return raw(value ? "true" : "false");
  }
  bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

std::string write(const Task& task) {
  Writer out;
  out.raw(R"({"attempt":)").number(task.attempt).raw(R"(,"function":)").id(task.function).raw(R"(,"objects":)");
  out.list(task.objects, [&](const ObjectId& id) { out.id(id); });
  return out.raw(R"(,"task":)").id(task.task).raw(R"(,"type":"task","v":1})").take();
}

std::string write(const Outcome& outcome) {
  Writer out;
  out.raw(R"({"buffers":)").list(outcome.buffers, [&](std::uint64_t size) { out.number(size); });
  out.raw(kNoError).raw(outcome.pickle_follows ? "true" : "false");
  out.raw(R"(,"received_ns":)").number(outcome.received_ns).raw(R"(,"run_end_ns":)").number(outcome.run_end_ns);
  out.raw(R"(,"run_start_ns":)").number(outcome.run_start_ns).raw(R"(,"sent_ns":)").number(outcome.sent_ns);
  return out.raw(R"(,"task":)").id(outcome.task).raw(R"(,"type":"outcome","v":1})").take();
}

bool read(Reader in, Task& task) {
  return in.raw(R"({"attempt":)") && in.number(task.attempt) && in.raw(R"(,"function":)") && in.id(task.function) &&
         in.raw(R"(,"objects":)") && in.list(task.objects, [&](ObjectId& id) { return in.id(id); }) &&
         in.raw(R"(,"task":)") && in.id(task.task) && in.raw(R"(,"type":"task","v":1})") && in.done();
}

bool read(Reader in, Outcome& outcome) {
  outcome.ok = true;
  return in.raw(R"({"buffers":)") && in.list(outcome.buffers, [&](std::uint64_t& size) { return in.number(size); }) &&
         in.raw(kNoError) && in.boolean(outcome.pickle_follows) && in.raw(R"(,"received_ns":)") &&
         in.number(outcome.received_ns) && in.raw(R"(,"run_end_ns":)") && in.number(outcome.run_end_ns) &&
         in.raw(R"(,"run_start_ns":)") && in.number(outcome.run_start_ns) && in.raw(R"(,"sent_ns":)") &&
         in.number(outcome.sent_ns) && in.raw(R"(,"task":)") && in.id(outcome.task) &&
         in.raw(R"(,"type":"outcome","v":1})") && in.done();
}

}  // namespace

std::optional<std::string> encode_hot(const Header& header) {
  if (const auto* task = std::get_if<Task>(&header)) return write(*task);
  if (const auto* outcome = std::get_if<Outcome>(&header); outcome != nullptr && outcome->ok && outcome->error == Error{})
    return write(*outcome);
  return std::nullopt;
}

std::optional<Header> decode_hot(std::string_view bytes) {
  if (Task task; bytes.starts_with(R"({"attempt":)") && read(Reader(bytes), task)) return task;
  if (Outcome outcome; bytes.starts_with(R"({"buffers":)") && read(Reader(bytes), outcome)) return outcome;
  return std::nullopt;
}

}  // namespace pounce::protocol
