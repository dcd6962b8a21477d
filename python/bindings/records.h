// Converts a value with a table of fields (pounce/fields.h) to Python and back: to a NamedTuple with the table's
// names. A new field of a table appears in Python under its name; module.cc names the kinds. Four things differ:
//   - `class` and `from`, keywords of Python, are `class_` and `from_`;
//   - times are in seconds without a unit in the name: `run_ns` is the float `run`, `end_time_s` the int `end_time`.
//     Minutes stay minutes, as in Slurm: `time_min`;
//   - an id is its hex digits, an enum its word;
//   - a value with a table of its own is None if it has its default.
// These are pybind11 casters: functions take and return such values as they are. With the GIL.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "messages/put_words.h"
#include "model/ids.h"
#include "pounce/fields.h"

namespace pounce::records {

namespace py = pybind11;

// The NamedTuple of each kind and its name, for the interpreter's lifetime.
template <HasFields T>
inline PyTypeObject* type_of = nullptr;
template <HasFields T>
inline const char* name_of = nullptr;

template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;
template <class T>
concept Duration = detail::kIsDuration<T>;
// A value that is None when it has its default.
template <class T>
concept Optional = HasFields<T> && std::equality_comparable<T>;

// ---- names and units ---------------------------------------------------------------------------------------------

struct Unit {
  std::string_view ending;
  double of_a_second;  // how many make one second
};
inline constexpr Unit kUnits[] = {{"_ns", 1e9}, {"_ms", 1e3}, {"_s", 1}};

inline const Unit* unit_of(std::string_view name) {
  for (const Unit& unit : kUnits)
    if (name.ends_with(unit.ending)) return &unit;
  return nullptr;
}
// How many of the unit make one second, if the value becomes a float; 0: it stays a whole number.
inline double fraction(std::string_view name) {
  const Unit* unit = unit_of(name);
  return unit != nullptr && unit->of_a_second > 1 ? unit->of_a_second : 0;
}
inline std::string name_in_python(std::string_view name) {
  if (name == "class" || name == "from") return std::string(name) + "_";
  const Unit* unit = unit_of(name);
  return std::string(name.substr(0, name.size() - (unit != nullptr ? unit->ending.size() : 0)));
}

// ---- types, as _core.pyi writes them ------------------------------------------------------------------------------

template <class T>
struct Annotation {
  static std::string text(std::string_view name) {
    if constexpr (std::same_as<T, bool>)
      return "bool";
    else if constexpr (Integer<T> || Duration<T>)
      return fraction(name) != 0 ? "float" : "int";
    else if constexpr (std::floating_point<T>)
      return "float";
    else if constexpr (std::derived_from<T, py::object>)
      return "Any";
    else if constexpr (HasFields<T>)
      return name_of<T>;
    else
      return "str";  // a text, a word, an id
  }
};
template <class Tag, class T>
struct Annotation<Number<Tag, T>> : Annotation<T> {};
template <class T>
struct Annotation<std::optional<T>> {
  static std::string text(std::string_view name) { return Annotation<T>::text(name) + " | None"; }
};
template <class T>
struct Annotation<std::vector<T>> {
  static std::string text(std::string_view name) { return "list[" + Annotation<T>::text(name) + "]"; }
};
template <class T>
struct Annotation<std::map<std::string, T>> {
  static std::string text(std::string_view name) { return "dict[str, " + Annotation<T>::text(name) + "]"; }
};

template <class T>
std::string annotation(std::string_view name) {
  return Annotation<T>::text(name) + (Optional<T> ? " | None" : "");
}

// ---- one field ----------------------------------------------------------------------------------------------------

template <class T>
py::object item_of(std::string_view name, const T& member) {
  if constexpr (Duration<T>) {
    return item_of(name, member.count());
  } else if constexpr (Integer<T>) {
    const double parts = fraction(name);
    return parts != 0 ? py::object(py::float_(static_cast<double>(member) / parts)) : py::object(py::int_(member));
  } else if constexpr (Optional<T>) {
    static const T nothing{};
    return member == nothing ? py::object(py::none()) : py::cast(member);
  } else if constexpr (std::derived_from<T, py::object>) {
    return member;
  } else {
    return py::cast(member);
  }
}

template <class T>
void take(std::string_view name, const py::handle& item, T& member) {
  if constexpr (Duration<T>) {
    typename T::rep count{};
    take(name, item, count);
    member = T(count);
  } else if constexpr (Integer<T>) {
    const double parts = fraction(name);
    member = parts != 0 ? static_cast<T>(std::llround(item.cast<double>() * parts)) : item.cast<T>();
  } else if constexpr (Optional<T>) {
    if (!item.is_none()) member = item.cast<T>();
  } else {
    member = item.cast<T>();
  }
}

// ---- one record ---------------------------------------------------------------------------------------------------

// Makes the NamedTuple of T with the struct's own defaults. Define the kinds that it holds first.
template <HasFields T>
void define(py::module_& m, const char* name) {
  static_assert(well_formed<T>());
  name_of<T> = name;  // before its fields: it may hold values of its own kind
  py::list names, defaults;
  py::dict annotations;
  T value{};
  for_each_field(value, [&]<class Field, class Member>(const Field& field, Member& member) {
    const std::string own = name_in_python(field.name);
    names.append(own);
    defaults.append(item_of(field.name, member));
    annotations[own.c_str()] = annotation<Member>(field.name);
  });
  using namespace py::literals;
  py::object type = py::module_::import("collections")
                        .attr("namedtuple")(name, names, "defaults"_a = defaults, "module"_a = m.attr("__name__"));
  type.attr("__annotations__") = annotations;
  m.attr(name) = type;
  type_of<T> = reinterpret_cast<PyTypeObject*>(type.release().ptr());
}

template <HasFields T>
py::object items_of(const T& value) {
  const auto made = py::reinterpret_steal<py::object>(type_of<T>->tp_alloc(type_of<T>, kFieldCount<T>));
  if (!made) throw py::error_already_set();
  Py_ssize_t at = 0;
  for_each_field(value, [&](const auto& field, const auto& member) {
    PyTuple_SET_ITEM(made.ptr(), at++, item_of(field.name, member).release().ptr());
  });
  return made;
}

template <HasFields T>
py::object to_python(const T& value) {
  if constexpr (requires(T& own) { messages::say(own); }) {
    T own = value;
    messages::say(own);  // nested values get their text when they are converted
    return items_of(own);
  } else {
    return items_of(value);
  }
}

template <HasFields T>
bool from_python(const py::handle& record, T& value) {
  if (!PyObject_TypeCheck(record.ptr(), type_of<T>) || PyTuple_GET_SIZE(record.ptr()) != kFieldCount<T>) return false;
  Py_ssize_t at = 0;
  for_each_field(value, [&](const auto& field, auto& member) {
    const py::handle item = PyTuple_GET_ITEM(record.ptr(), at++);
    try {
      take(field.name, item, member);
    } catch (const py::cast_error&) {
      throw py::type_error(std::string(name_of<T>) + "." + name_in_python(field.name) + " does not take " +
                           py::repr(item).cast<std::string>());
    }
    if (!is_within(field.bounds, member))
      throw py::value_error(std::string(name_of<T>) + "." + name_in_python(field.name) + " is out of its bounds");
  });
  return true;
}

}  // namespace pounce::records

namespace pybind11::detail {

template <pounce::HasFields T>
struct type_caster<T> {
  PYBIND11_TYPE_CASTER(T, const_name("NamedTuple"));
  bool load(handle record, bool) { return pounce::records::from_python(record, value); }
  static handle cast(const T& value, return_value_policy, handle) {
    return pounce::records::to_python(value).release();
  }
};

// From its digits or its bytes; "": no id.
template <class Tag, std::size_t N>
struct type_caster<pounce::HexId<Tag, N>> {
  using Id = pounce::HexId<Tag, N>;
  PYBIND11_TYPE_CASTER(Id, const_name("str"));
  bool load(handle id, bool) {
    if (PyBytes_Check(id.ptr()))
      return load_bytes(reinterpret_cast<const std::uint8_t*>(PyBytes_AS_STRING(id.ptr())), PyBytes_GET_SIZE(id.ptr()));
    if (!PyUnicode_Check(id.ptr())) return false;
    Py_ssize_t size = 0;
    const char* const digits = PyUnicode_AsUTF8AndSize(id.ptr(), &size);
    if (digits == nullptr) throw error_already_set();
    const auto known = size == 0 ? std::optional(Id()) : Id::from_hex({digits, static_cast<std::size_t>(size)});
    if (!known) throw value_error("not an id of " + std::to_string(2 * N) + " hex digits: " + digits);
    value = *known;
    return true;
  }
  static handle cast(const Id& id, return_value_policy, handle) { return str(id.hex()).release(); }

 private:
  bool load_bytes(const std::uint8_t* bytes, Py_ssize_t size) {
    if (size != N) throw value_error("an id has " + std::to_string(N) + " bytes");
    std::array<std::uint8_t, N> all{};
    std::copy_n(bytes, N, all.begin());
    value = Id(all);
    return true;
  }
};

template <class Tag, class T>
struct type_caster<pounce::Number<Tag, T>> {
  using Number = pounce::Number<Tag, T>;
  PYBIND11_TYPE_CASTER(Number, const_name("int"));
  bool load(handle number, bool) {
    value.value = number.cast<T>();
    return true;
  }
  static handle cast(const Number& number, return_value_policy, handle) { return int_(number.value).release(); }
};

#if PYBIND11_VERSION_MAJOR >= 3  // version 3 has a caster of its own for every enum
template <pounce::HasWords Enum>
struct type_caster_enum_type_enabled<Enum, void> : std::false_type {};
#endif

template <pounce::HasWords Enum>
struct type_caster<Enum> {
  PYBIND11_TYPE_CASTER(Enum, const_name("str"));
  bool load(handle word, bool) {
    const auto known = words(Enum{}).from(word.cast<std::string>());
    if (known) value = *known;
    return known.has_value();
  }
  static handle cast(Enum one, return_value_policy, handle) { return str(words(one).of(one)).release(); }
};

}  // namespace pybind11::detail
