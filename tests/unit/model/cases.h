// For each kind of value those that a codec may get wrong, and for a value with a table each field with each of them: a
// field that is added to a table is tried without a change here.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/ids.h"
#include "pounce/fields.h"

namespace pounce {

template <class T>
std::vector<T> cases();

namespace detail {

template <class T>
struct CasesOf;  // of what is made of other kinds

template <class Tag, std::size_t N>
struct CasesOf<HexId<Tag, N>> {
  static std::vector<HexId<Tag, N>> all() {
    std::array<std::uint8_t, N> high, counted;
    for (std::size_t i = 0; i < N; ++i) high[i] = 0xff, counted[i] = static_cast<std::uint8_t>(0x0a + i);
    return {HexId<Tag, N>{}, HexId<Tag, N>(high), HexId<Tag, N>(counted)};
  }
};
template <class Tag, class T>
struct CasesOf<Number<Tag, T>> {
  static std::vector<Number<Tag, T>> all() {
    std::vector<Number<Tag, T>> numbers;
    for (const T& value : cases<T>()) numbers.push_back({value});
    return numbers;
  }
};
template <class Rep, class Period>
struct CasesOf<std::chrono::duration<Rep, Period>> {
  static std::vector<std::chrono::duration<Rep, Period>> all() {
    std::vector<std::chrono::duration<Rep, Period>> times;
    for (const std::int64_t count : {0, 1, 86'400}) times.emplace_back(count);
    return times;
  }
};
template <class T>
struct CasesOf<std::vector<T>> {
  static std::vector<std::vector<T>> all() {
    return {{}, {cases<T>().back()}, cases<T>(), std::vector<T>(300, cases<T>().back())};
  }
};
template <class T>
struct CasesOf<std::optional<T>> {
  static std::vector<std::optional<T>> all() {
    std::vector<std::optional<T>> values{std::nullopt};
    for (const T& value : cases<T>()) values.push_back(value);
    return values;
  }
};
template <class T>
struct CasesOf<std::map<std::string, T>> {
  static std::vector<std::map<std::string, T>> all() {
    return {{}, {{"node", T{}}, {"a name", cases<T>().back()}}, {{"quo\"ted", T{}}, {"z", T{}}}};
  }
};

}  // namespace detail

// check(name, value) for each field of a T with each case that is within its bounds, the others as `others` has them.
template <HasFields T, class Check>
void for_each_case(const T& others, Check check) {
  for_each_field(others, [&]<class Member>(const auto& field, const Member&) {
    for (const Member& value : cases<Member>()) {
      if (!is_within(field.bounds, value)) continue;
      T one = others;
      field.get(one) = value;
      check(field.name, one);
    }
  });
}

template <class T>
std::vector<T> cases() {
  if constexpr (std::is_same_v<T, bool>) {
    return {false, true};
  } else if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    return {T{0}, T{1}, Limits::max(), Limits::min(), static_cast<T>(Limits::max() - 1), static_cast<T>(-1)};
  } else if constexpr (std::is_enum_v<T>) {
    std::vector<T> all;
    for (std::size_t i = 0; i < std::size(words(T{}).all); ++i) all.push_back(static_cast<T>(i));
    return all;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return {"",
            "plain words, {with}: [signs]",
            "a \"quote\"",
            "back\\slash",
            "two\nlines\t",
            "\x01",
            "na\xc3\xafve",
            "no \xff text",
            "\x7f",
            std::string("a\0b", 3),
            std::string(2000, 'x')};
  } else if constexpr (HasFields<T>) {
    std::vector<T> all{T{}};
    static bool within = false;  // one that holds its own kind
    if (std::exchange(within, true)) return all;
    for_each_case(T{}, [&](std::string_view, const T& one) { all.push_back(one); });
    within = false;
    return all;
  } else {
    return detail::CasesOf<T>::all();
  }
}

}  // namespace pounce
