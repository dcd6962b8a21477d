// Values to JSON and back, by their tables (pounce/fields.h): the only place that knows how each kind of value is
// written. JSON has one kind of number, and the library would truncate -1, 1.5 or 2^40: here a number that does not
// fit its type or its field's bounds is malformed. A missing field keeps its default; an unknown one is ignored.
// Reading throws json::exception; parse() does not. For .cc files that may use JSON (tests/include_table.py).
// Thread: any.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/ids.h"
#include "pounce/fields.h"

namespace pounce::model {

using nlohmann::json;

template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

[[noreturn]] inline void malformed(const std::string& what, const json& where) {
  throw json::other_error::create(501, what, &where);
}

// Not inside the templates below: it would be compiled again with each of their fields.
inline void put(json& object, std::string_view name, json value) {
  object.get_ref<json::object_t&>().emplace(name, std::move(value));
}
inline const json* find(const json& object, std::string_view name) {
  const auto found = object.find(name);
  return found != object.end() ? &*found : nullptr;
}

// ---- write --------------------------------------------------------------------------------------------------------

template <class T>
json to_json(const T& value);  // one of the kinds below

namespace detail {

template <class Tag, std::size_t N>
json write(const HexId<Tag, N>& id) {
  return id.hex();
}
template <class Tag, class T>
json write(const Number<Tag, T>& number) {
  return number.value;
}
template <class Rep, class Period>
json write(const std::chrono::duration<Rep, Period>& time) {
  return time.count();
}
template <class T>
json write(const std::optional<T>& value) {
  return value ? to_json(*value) : json();
}
template <class T>
json write(const std::vector<T>& values) {
  json list = json::array();
  for (const T& value : values) list.push_back(to_json(value));
  return list;
}
template <class T>
json write(const std::map<std::string, T>& values) {
  json object = json::object();
  for (const auto& [name, value] : values) object[name] = to_json(value);
  return object;
}

template <HasFields T>
json write(const T& value) {
  static_assert(well_formed<T>());
  json object = json::object();
  for_each_field(value, [&](const auto& field, const auto& member) {
    if (is_written<T>(field, member)) put(object, field.name, to_json(member));
  });
  return object;
}

}  // namespace detail

template <class T>
json to_json(const T& value) {
  if constexpr (std::is_enum_v<T>)
    return words(value).of(value);
  else if constexpr (std::is_arithmetic_v<T> || std::same_as<T, std::string>)
    return value;
  else
    return detail::write(value);
}

// External text (Slurm's reasons, last lines) may not be UTF-8: invalid bytes are replaced, never an exception.
inline std::string dump(const json& object) { return object.dump(-1, ' ', false, json::error_handler_t::replace); }

template <class T>
std::string to_text(const T& value) {
  return dump(to_json(value));
}

// ---- read ---------------------------------------------------------------------------------------------------------

template <class T>
void read(const json& from, T& value);  // one of the kinds below

namespace detail {

template <Integer T>
void take(const json& from, T& value) {
  const bool fits = from.is_number_unsigned() ? std::in_range<T>(from.get<std::uint64_t>())
                                              : from.is_number_integer() && std::in_range<T>(from.get<std::int64_t>());
  if (!fits) malformed("not a number of the right size", from);
  value = from.get<T>();
}
template <class Tag, std::size_t N>
void take(const json& from, HexId<Tag, N>& id) {
  const auto parsed = HexId<Tag, N>::from_hex(from.get_ref<const std::string&>());
  if (!parsed) malformed("not an id of " + std::to_string(2 * N) + " hex digits", from);
  id = *parsed;
}
// Bounds the recursion: a value may hold its own kind (Cause), and a peer must not exhaust the stack.
class Nested {
 public:
  explicit Nested(const json& where) {
    if (depth_ == kDeepest) malformed("nested too deep", where);
    ++depth_;
  }
  ~Nested() { --depth_; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  static constexpr int kDeepest = 64;
  static inline thread_local int depth_ = 0;
};

template <class Tag, class T>
void take(const json& from, Number<Tag, T>& number) {
  take(from, number.value);
}
template <class Rep, class Period>
void take(const json& from, std::chrono::duration<Rep, Period>& time) {
  Rep count{};
  take(from, count);
  time = std::chrono::duration<Rep, Period>(count);
}
template <class T>
void take(const json& from, std::optional<T>& value) {
  if (from.is_null()) return value.reset();
  model::read(from, value.emplace());
}
template <class T>
void take(const json& from, std::vector<T>& values) {
  values.clear();
  for (const json& one : from.get_ref<const json::array_t&>()) model::read(one, values.emplace_back());
}
template <class T>
void take(const json& from, std::map<std::string, T>& values) {
  values.clear();
  for (const auto& [name, one] : from.get_ref<const json::object_t&>()) model::read(one, values[name]);
}
template <HasFields T>
void take(const json& from, T& value) {
  if (!from.is_object()) malformed("not an object", from);
  const Nested one_deeper(from);
  for_each_field(value, [&](const auto& field, auto& member) {
    const json* found = find(from, field.name);
    if (found == nullptr) return;
    model::read(*found, member);
    if (!is_within(field.bounds, member)) malformed(std::string(field.name) + " is out of its bounds", *found);
  });
}

}  // namespace detail

template <class T>
void read(const json& from, T& value) {
  if constexpr (std::is_enum_v<T>) {
    const auto& word = from.get_ref<const std::string&>();
    const auto known = words(T{}).from(word);
    if (!known) malformed("unknown word '" + word + "'", from);
    value = *known;
  } else if constexpr (std::same_as<T, bool> || std::same_as<T, std::string> || std::floating_point<T>) {
    from.get_to(value);
  } else {
    detail::take(from, value);
  }
}

template <class T>
T from_json(const json& from) {
  T value{};
  read(from, value);
  return value;
}

// nullopt: not JSON, or not of this type.
template <class T>
std::optional<T> parse(std::string_view text) {
  try {
    return from_json<T>(json::parse(text));
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace pounce::model
