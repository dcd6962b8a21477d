// A value to the text of its JSON and back without building a document, which costs more than everything else this
// side of ZeroMQ does for a short call. From the same tables as model/json.h, so the bytes are the same. Thread: any.
#pragma once

#include <algorithm>
#include <array>
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

#include "model/ids.h"
#include "pounce/fields.h"
#include "pounce/version.h"

namespace pounce::protocol {

// The names of a value's entries in the order of JSON objects, and the texts before them, made when it is compiled.

namespace plain {

// A message's own entries, its type and the protocol's version, are sorted among its fields.
template <class T>
concept IsMessage = HasFields<T> && requires { T::kType; };

template <HasFields T>
constexpr auto names() {
  constexpr std::size_t kCount = kFieldCount<T>;
  std::array<std::string_view, kCount + (IsMessage<T> ? 2 : 0)> all{};
  [&]<std::size_t... kAt>(std::index_sequence<kAt...>) {
    ((all[kAt] = kField<T, kAt>.name), ...);
  }(std::make_index_sequence<kCount>());
  if constexpr (IsMessage<T>) all[kCount] = "type", all[kCount + 1] = "v";
  return all;
}

// Indices into names(), in the order of JSON objects.
template <HasFields T>
constexpr auto sorted() {
  constexpr auto kNames = names<T>();
  std::array<std::size_t, kNames.size()> order{};
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t place) { return kNames[place]; });
  return order;
}

// `,"name":`
template <HasFields T, std::size_t kPlace>
constexpr auto key() {
  constexpr std::string_view kName = names<T>()[kPlace];
  std::array<char, kName.size() + 4> text{',', '"'};
  std::ranges::copy(kName, text.begin() + 2);
  text[kName.size() + 2] = '"';
  text[kName.size() + 3] = ':';
  return text;
}
template <HasFields T, std::size_t kPlace>
inline constexpr auto kKey = key<T, kPlace>();

constexpr bool is_plain(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }

// Calls do_it.operator()<kPlace>() for each entry in order, while it returns true.
template <HasFields T, class Do>
bool in_order(Do&& do_it) {
  return [&]<std::size_t... kAt>(std::index_sequence<kAt...>) {
    constexpr auto kOrder = sorted<T>();
    return (do_it.template operator()<kOrder[kAt]>() && ...);
  }(std::make_index_sequence<names<T>().size()>());
}

}  // namespace plain

// A text that needs escapes is declined: each step answers whether it could be written.
class PlainWriter {
 public:
  PlainWriter() { text_.reserve(448); }

  template <class T>
  bool write(const T& value) {
    if constexpr (std::same_as<T, bool>)
      return raw(value ? "true" : "false");
    else if constexpr (std::integral<T>)
      return number(value);
    else if constexpr (std::is_enum_v<T>)
      return text(words(value).of(value));
    else if constexpr (std::same_as<T, std::string>)
      return text(value);
    else if constexpr (HasFields<T>)
      return object(value);
    else
      return put(value);
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

// What has escapes, spaces or another order is declined, and goes the general way.

// Reads into a default value. Each step returns whether the text was as expected.
class PlainReader {
 public:
  explicit PlainReader(std::string_view text) : rest_(text) {}

  template <class T>
  bool read(T& value) {
    if constexpr (std::same_as<T, bool>)
      return boolean(value);
    else if constexpr (std::integral<T>)
      return number(value);
    else if constexpr (std::is_enum_v<T>)
      return word(value);
    else if constexpr (std::same_as<T, std::string>)
      return text(value);
    else if constexpr (HasFields<T>)
      return object(value);
    else
      return get(value);
  }
  bool done() const { return rest_.empty(); }

  template <HasFields T>
  bool object(T& value) {
    if (++depth_ > kDeepest) return false;
    bool first = true;
    const bool whole = plain::in_order<T>([&]<std::size_t kPlace> { return entry<kPlace>(value, first); }) &&
                       (!first || raw("{")) && raw("}");
    --depth_;
    return whole;
  }

 private:
  bool raw(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  template <class Number>
  bool number(Number& value) {
    const char* const end = rest_.data() + rest_.size();
    const auto [stop, error] = std::from_chars(rest_.data(), end, value);
    // 1.5 and 1e9 are numbers too, but not in this form: the next raw() rejects them. 007 is not a JSON number.
    if (error != std::errc() || (stop - rest_.data() > 1 && (rest_[0] == '0' || rest_.starts_with("-0")))) return false;
    rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()));
    return true;
  }
  bool boolean(bool& value) {
    value = rest_.starts_with("true");
    return raw(value ? "true" : "false");
  }
  bool text(std::string& value) {
    const auto end = rest_.find('"', 1);
    if (!rest_.starts_with('"') || end == std::string_view::npos) return false;
    value = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return std::ranges::all_of(value, plain::is_plain);
  }
  template <class Enum>
  bool word(Enum& value) {
    std::string said;
    if (!text(said)) return false;
    const auto known = words(Enum{}).from(said);
    if (known) value = *known;
    return known.has_value();
  }

  // Reads the key and its value, or nothing if the field may be left out.
  template <std::size_t kPlace, HasFields T>
  bool entry(T& value, bool& first) {
    constexpr const auto& kKey = plain::kKey<T, kPlace>;
    constexpr std::string_view kName(kKey.data() + 1, kKey.size() - 1);
    const bool here = rest_.starts_with(first ? '{' : ',') && rest_.substr(1).starts_with(kName);
    if (here) {
      rest_.remove_prefix(1 + kName.size());
      first = false;
    }
    if constexpr (kPlace < kFieldCount<T>) {
      constexpr const auto& kThis = kField<T, kPlace>;
      constexpr bool kMayBeGone = !kThis.always || requires { kThis.get(value).has_value(); };
      return here ? read(kThis.get(value)) && is_within(kThis.bounds, kThis.get(value)) : kMayBeGone;
    } else if constexpr (kPlace == kFieldCount<T>) {
      return here && raw("\"") && raw(T::kType) && raw("\"");
    } else {
      int version = 0;
      return here && number(version) && version == kProtocolVersion;
    }
  }

  template <class Tag, std::size_t N>
  bool get(HexId<Tag, N>& id) {
    if (!raw("\"")) return false;
    const auto parsed = HexId<Tag, N>::from_hex(rest_.substr(0, 2 * N));
    if (!parsed) return false;
    id = *parsed;
    rest_.remove_prefix(2 * N);
    return raw("\"");
  }
  template <class Tag, class T>
  bool get(Number<Tag, T>& number) {
    return read(number.value);
  }
  template <class Rep, class Period>
  bool get(std::chrono::duration<Rep, Period>& time) {
    Rep count{};
    if (!number(count)) return false;
    time = std::chrono::duration<Rep, Period>(count);
    return true;
  }
  template <class T>
  bool get(std::optional<T>& value) {
    return read(value.emplace());
  }
  template <class T>
  bool get(std::vector<T>& values) {
    if (!raw("[")) return false;
    if (raw("]")) return true;
    do {
      if (!read(values.emplace_back())) return false;
    } while (raw(","));
    return raw("]");
  }
  // Keys in order, so none occurs twice.
  template <class T>
  bool get(std::map<std::string, T>& values) {
    if (!raw("{")) return false;
    if (raw("}")) return true;
    do {
      std::string name;
      if (!text(name) || !raw(":") || (!values.empty() && name <= values.rbegin()->first)) return false;
      if (!read(values[name])) return false;
    } while (raw(","));
    return raw("}");
  }

  static constexpr int kDeepest = 8;  // a value may hold its own kind (Cause); the general reader has the actual bound

  std::string_view rest_;
  int depth_ = 0;
};

}  // namespace pounce::protocol
