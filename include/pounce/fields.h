// A table describes once, beside its struct, a value that crosses a process border. Its JSON everywhere (wire,
// pounce-slurm, journal, status documents), the tables of the documentation and the records in Python come from this
// table.
//
//   struct Cat {
//     std::string name;
//     std::chrono::minutes nap{0};
//     Placement at = Placement::kAny;
//     static constexpr auto fields() {
//       return table(field("name", &Cat::name, "as it is called"),
//                    field("nap_min", &Cat::nap, "how long it sleeps").only_if_set(),
//                    field("placement", &Cat::at, "beside other cats"));
//     }
//   };
//
// A missing field keeps its default; an unknown one is ignored. A duration is written as a count of the unit in its
// name. An enum is written as a word of the table `words(Placement)` beside it. A number may have bounds, `.within(1,
// 9)`: every reader (of a peer's message, of a Python record) refuses a number outside them. A field that is an option
// of sbatch names it, `.as_sbatch("account")`: batch scripts and pounce-slurm need no more. Thread: any (constants).
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <ratio>
#include <string_view>
#include <type_traits>
#include <utility>

namespace pounce {

// The bounds of a number; for a duration, in the unit of its field's name.
struct Bounds {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  constexpr bool operator==(const Bounds&) const = default;

  constexpr bool hold(std::integral auto number) const {
    return std::cmp_greater_equal(number, least) && std::cmp_less_equal(number, most);
  }
};

// Get: from the value to its member, const or not as the value is. kAlways: written even if it has its default.
template <class Get, bool kAlways = true>
struct Field {
  static constexpr bool always = kAlways;
  std::string_view name;
  Get get;
  std::string_view about;  // empty: the name says enough
  Bounds bounds{};
  std::string_view option{};  // of sbatch, which takes the value as it is; empty: there is none

  constexpr Field<Get, false> only_if_set() const { return {name, get, about, bounds, option}; }
  constexpr Field within(std::int64_t least, std::uint64_t most) const {
    return {name, get, about, {least, most}, option};
  }
  constexpr Field as_sbatch(std::string_view name_there) const { return {name, get, about, bounds, name_there}; }
};

template <class Owner, class Member>
struct MemberOf {
  Member Owner::* member;
  constexpr const Member& operator()(const Owner& value) const { return value.*member; }
  constexpr Member& operator()(Owner& value) const { return value.*member; }
};

template <class Outer, class Inner>
struct Through {
  Outer outer;
  Inner inner;
  template <class Owner>
  constexpr auto& operator()(Owner& value) const {
    return inner(outer(value));
  }
};

template <class Owner, class Member>
constexpr auto field(std::string_view name, Member Owner::* member, std::string_view about = {}) {
  return Field<MemberOf<Owner, Member>>{name, {member}, about};
}

// Like std::tuple, which compiles many times slower.
namespace detail {

template <std::size_t kAt, class Field>
struct Slot {
  Field field;
};
template <class At, class... Fields>
struct Slots;
template <std::size_t... kAt, class... Fields>
struct Slots<std::index_sequence<kAt...>, Fields...> : Slot<kAt, Fields>... {};

template <std::size_t kAt, class Field>
constexpr const Field& at(const Slot<kAt, Field>& slot) {
  return slot.field;
}

}  // namespace detail

template <class... Fields>
struct Table : detail::Slots<std::index_sequence_for<Fields...>, Fields...> {
  static constexpr std::size_t kSize = sizeof...(Fields);
};

template <class T>
concept HasFields = requires { T::fields(); };
template <HasFields T>
inline constexpr auto kFields = T::fields();
template <HasFields T>
inline constexpr std::size_t kFieldCount = decltype(T::fields())::kSize;
template <HasFields T, std::size_t kAt>
inline constexpr const auto& kField = detail::at<kAt>(kFields<T>);

namespace detail {

template <class T, class Do, std::size_t... kAt>
constexpr void each_field(T& value, Do& do_it, std::index_sequence<kAt...>) {
  using Owner = std::remove_const_t<T>;
  (do_it(kField<Owner, kAt>, kField<Owner, kAt>.get(value)), ...);
}

template <class Field>
constexpr Table<Field> as_table(const Field& field) {
  return {{{field}}};
}
template <class... Fields>
constexpr Table<Fields...> as_table(const Table<Fields...>& fields) {
  return fields;
}

template <class... A, class... B, std::size_t... kA, std::size_t... kB>
constexpr Table<A..., B...> joined(const Table<A...>& a, const Table<B...>& b, std::index_sequence<kA...>,
                                   std::index_sequence<kB...>) {
  return {{{at<kA>(a)}..., {at<kB>(b)}...}};
}
template <class A>
constexpr A join(const A& table) {
  return table;
}
template <class A, class B, class... Rest>
constexpr auto join(const A& a, const B& b, const Rest&... rest) {
  return join(joined(a, b, std::make_index_sequence<A::kSize>(), std::make_index_sequence<B::kSize>()), rest...);
}

template <class Member, class Owner, std::size_t... kAt>
constexpr auto part_of(Member Owner::* member, std::index_sequence<kAt...>) {
  const auto through = [member]<class Get, bool kAlways>(const Field<Get, kAlways>& of) {
    return Field<Through<MemberOf<Owner, Member>, Get>, kAlways>{of.name, {{member}, of.get}, of.about, of.bounds};
  };
  return Table<decltype(through(kField<Member, kAt>))...>{{{through(kField<Member, kAt>)}...}};
}

template <class T>
inline constexpr bool kIsField = false;
template <class Get, bool kAlways>
inline constexpr bool kIsField<Field<Get, kAlways>> = true;

}  // namespace detail

// Inserts the fields of this member, which has a table of its own, among ours.
template <class Owner, class Member>
constexpr auto part(Member Owner::* member) {
  return detail::part_of(member, std::make_index_sequence<kFieldCount<Member>>());
}

template <class... Rows>
constexpr auto table(const Rows&... rows) {
  if constexpr ((detail::kIsField<Rows> && ...))
    return Table<Rows...>{{{rows}...}};
  else
    return detail::join(detail::as_table(rows)...);
}

// Calls do_it(field, member) for each field, in the table's order.
template <class T, class Do>
  requires HasFields<std::remove_const_t<T>>
constexpr void for_each_field(T& value, Do&& do_it) {
  detail::each_field(value, do_it, std::make_index_sequence<kFieldCount<std::remove_const_t<T>>>());
}

// Whether this field of a T is written when its member has this value. An unset optional never is.
template <class T, class Get, bool kAlways, class Member>
bool is_written(const Field<Get, kAlways>& field, const Member& member) {
  if constexpr (requires { member.has_value(); }) {
    return member.has_value();
  } else if constexpr (!kAlways) {
    static const T defaults{};
    return !(member == field.get(defaults));
  } else {
    return true;
  }
}

// ---- numbers: whether they are within their bounds ----------------------------------------------------------------

namespace detail {

template <class T>
inline constexpr bool kIsDuration = false;
template <class Rep, class Period>
inline constexpr bool kIsDuration<std::chrono::duration<Rep, Period>> = true;

}  // namespace detail

template <class Member>
constexpr bool is_within(const Bounds& bounds, const Member& member) {
  if constexpr (std::is_same_v<Member, bool>)
    return true;
  else if constexpr (std::integral<Member>)
    return bounds.hold(member);
  else if constexpr (detail::kIsDuration<Member>)
    return bounds.hold(member.count());
  else
    return true;  // not a number
}

// ---- enums: their words, in the order of their enumerators, which count from 0 ------------------------------------

template <class Enum, std::size_t N>
struct Words {
  std::string_view all[N];
  std::optional<Enum> unknown;  // the value of an unknown word (of a later version); unset: refused

  constexpr std::string_view of(Enum value) const { return all[static_cast<std::size_t>(value)]; }
  constexpr std::optional<Enum> from(std::string_view word) const {
    for (std::size_t i = 0; i < N; ++i)
      if (all[i] == word) return static_cast<Enum>(i);
    return unknown;
  }
};

template <class Enum, std::size_t N>
constexpr Words<Enum, N> words_of(const std::string_view (&words)[N], std::optional<Enum> unknown = std::nullopt) {
  Words<Enum, N> all{{}, unknown};
  for (std::size_t i = 0; i < N; ++i) all.all[i] = words[i];
  return all;
}

template <class Enum>
concept HasWords = std::is_enum_v<Enum> && requires(Enum value) { words(value).of(value); };

// ---- the requirements on a table, checked where it is used --------------------------------------------------------

namespace detail {

template <class T>
struct Unwrapped {
  using Type = T;
};
template <class T>
struct Unwrapped<std::optional<T>> {
  using Type = T;
};

// The name of a duration ends with its unit.
template <class Member>
constexpr bool says_its_unit(std::string_view name) {
  using T = typename Unwrapped<std::remove_cvref_t<Member>>::Type;
  if constexpr (!kIsDuration<T>)
    return true;
  else if constexpr (std::is_same_v<typename T::period, std::ratio<60>>)
    return name.ends_with("_min");
  else if constexpr (std::is_same_v<typename T::period, std::ratio<1>>)
    return name.ends_with("_s");
  else if constexpr (std::is_same_v<typename T::period, std::milli>)
    return name.ends_with("_ms");
  else
    return std::is_same_v<typename T::period, std::nano> && name.ends_with("_ns");
}

template <HasFields T, std::size_t... kAt>
constexpr bool well_formed(std::index_sequence<kAt...>) {
  const std::string_view names[] = {kField<T, kAt>.name..., ""};
  bool good = (says_its_unit<decltype(kField<T, kAt>.get(std::declval<T&>()))>(kField<T, kAt>.name) && ...);
  for (std::size_t i = 0; i < sizeof...(kAt); ++i) {
    good = good && !names[i].empty();
    for (const char c : names[i]) good = good && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_');
    for (std::size_t before = 0; before < i; ++before) good = good && names[before] != names[i];
  }
  return good;
}

}  // namespace detail

// No name occurs twice, each is in small letters, and each duration has its unit.
template <HasFields T>
constexpr bool well_formed() {
  return detail::well_formed<T>(std::make_index_sequence<kFieldCount<T>>());
}

}  // namespace pounce
