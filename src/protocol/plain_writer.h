// Writes a value as JSON text without building a document, which costs more than all our other work on a short call.
// It uses the same tables as model/json.h, so the bytes are the same. It declines text that needs escapes: each step
// returns whether it could write. Thread: any.
#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "pounce/ids.h"
#include "pounce/version.h"
#include "protocol/plain_keys.h"

namespace pounce::protocol {

class PlainWriter {
 public:
  PlainWriter() { text_.reserve(448); }

  template <class T>
  bool write(const T& value) {
    if constexpr (std::same_as<T, bool>) return raw(value ? "true" : "false");
    else if constexpr (std::integral<T>) return number(value);
    else if constexpr (std::is_enum_v<T>) return text(words(value).of(value));
    else if constexpr (std::same_as<T, std::string>) return text(value);
    else if constexpr (HasFields<T>) return object(value);
    else return put(value);
  }
  std::string take() { return std::move(text_); }

  template <HasFields T>
  bool object(const T& value) {
    static_assert(well_formed<T>());
    const std::size_t start = text_.size();
    const bool whole = plain::in_order<T>([&]<std::size_t kPlace> { return entry<kPlace>(value); });
    if (text_.size() == start) text_ += '{';
    text_[start] = '{';  // in place of the first entry's comma
    text_ += '}';
    return whole;
  }

 private:
  bool raw(std::string_view text) {
    text_ += text;
    return true;
  }
  template <class Number>
  bool number(Number value) {
    char digits[24];
    text_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    return true;
  }
  bool text(std::string_view text) {
    if (!std::ranges::all_of(text, plain::is_plain)) return false;
    return raw("\"") && raw(text) && raw("\"");
  }

  template <std::size_t kPlace, HasFields T>
  bool entry(const T& value) {
    constexpr const auto& kKey = plain::kKey<T, kPlace>;
    constexpr std::string_view kText(kKey.data(), kKey.size());
    if constexpr (kPlace < kFieldCount<T>) {
      constexpr const auto& kThis = kField<T, kPlace>;
      const auto& member = kThis.get(value);
      return !is_written<T>(kThis, member) || (raw(kText) && write(member));
    } else if constexpr (kPlace == kFieldCount<T>) {
      return raw(kText) && raw("\"") && raw(T::kType) && raw("\"");
    } else {
      return raw(kText) && number(kProtocolVersion);
    }
  }

  template <class Tag, std::size_t N>
  bool put(const HexId<Tag, N>& id) {
    constexpr char kDigits[] = "0123456789abcdef";
    char text[2 * N + 2];
    text[0] = text[2 * N + 1] = '"';
    for (std::size_t i = 0; i < N; ++i) {
      text[2 * i + 1] = kDigits[id.bytes()[i] >> 4];
      text[2 * i + 2] = kDigits[id.bytes()[i] & 15];
    }
    return raw({text, sizeof text});
  }
  template <class Tag, class T>
  bool put(const Number<Tag, T>& number) {
    return write(number.value);
  }
  template <class Rep, class Period>
  bool put(const std::chrono::duration<Rep, Period>& time) {
    return number(time.count());
  }
  template <class T>
  bool put(const std::optional<T>& value) {
    return write(*value);  // only what is set is written
  }
  template <class T>
  bool put(const std::vector<T>& values) {
    raw("[");
    for (std::size_t i = 0; i < values.size(); ++i)
      if ((i > 0 && !raw(",")) || !write(values[i])) return false;
    return raw("]");
  }
  template <class T>
  bool put(const std::map<std::string, T>& values) {
    raw("{");
    const char* comma = "";
    for (const auto& [name, value] : values) {
      if (!raw(comma) || !text(name) || !raw(":") || !write(value)) return false;
      comma = ",";
    }
    return raw("}");
  }

  std::string text_;
};

}  // namespace pounce::protocol
