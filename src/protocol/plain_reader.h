// The inverse of plain_writer.h. It declines text with escapes, spaces or another order, which the general codec then
// reads. Thread: any.
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
#include <vector>

#include "pounce/ids.h"
#include "pounce/version.h"
#include "protocol/plain_keys.h"

namespace pounce::protocol {

// Reads into a default value. Each step returns whether the text was as expected.
class PlainReader {
 public:
  explicit PlainReader(std::string_view text) : rest_(text) {}

  template <class T>
  bool read(T& value) {
    if constexpr (std::same_as<T, bool>) return boolean(value);
    else if constexpr (std::integral<T>) return number(value);
    else if constexpr (std::is_enum_v<T>) return word(value);
    else if constexpr (std::same_as<T, std::string>) return text(value);
    else if constexpr (HasFields<T>) return object(value);
    else return get(value);
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
