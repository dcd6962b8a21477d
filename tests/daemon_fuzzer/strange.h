// Changes some fields of any message, by its field table. Thread: the test's.
#pragma once

#include <chrono>
#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "daemon_fuzzer/pool.h"
#include "pounce/fields.h"

namespace pounce::daemon_fuzzer {

class Strange {
 public:
  // rate: of 256 fields so many are changed.
  Strange(Script& script, const Pool& pool, std::uint8_t rate) : script_(script), pool_(pool), rate_(rate) {}

  template <HasFields T>
  void operator()(T& value) {
    for_each_field(value, [this](const auto&, auto& member) { (*this)(member); });
  }
  template <class T>
  void operator()(std::vector<T>& list) {
    constexpr std::size_t kSizes[] = {0, 1, 2, 3, 40};
    if (changes()) list.resize(kSizes[script_.below(std::size(kSizes))]);
    if constexpr (!std::is_same_v<T, bool>)
      for (T& one : list) (*this)(one);
  }
  template <class T>
  void operator()(std::map<std::string, T>& entries) {
    if (!changes()) return;
    std::string name = "x";
    (*this)(name);
    (*this)(entries[name]);
  }
  template <class T>
  void operator()(std::optional<T>& value) {
    if (changes()) value.reset();
  }
  template <class Tag, std::size_t kSize>
  void operator()(HexId<Tag, kSize>& id) {
    if (!changes()) return;
    const auto known = pool_.of<HexId<Tag, kSize>>();
    const std::size_t which = script_.below(known.size() + 2);
    id = which < known.size() ? known[which]
                              : id_from<HexId<Tag, kSize>>(which == known.size() ? 0 : 0x5eed + script_.byte());
  }
  template <class Tag, class T>
  void operator()(Number<Tag, T>& number) {
    (*this)(number.value);
  }
  void operator()(std::string& text) {
    if (!changes()) return;
    const std::vector<std::string>& from = script_.one_in(2) ? pool_.texts : pool_.names;
    if (!from.empty()) text = from[script_.below(from.size())];
  }
  void operator()(bool& value) {
    if (changes()) value = !value;
  }
  template <std::integral T>
  void operator()(T& number) {
    if (changes()) number = number_from<T>(script_);
  }
  template <class Rep, class Period>
  void operator()(std::chrono::duration<Rep, Period>& time) {
    if (changes()) time = std::chrono::duration<Rep, Period>(number_from<std::uint32_t>(script_));
  }
  template <HasWords Enum>
  void operator()(Enum& value) {
    constexpr std::size_t kMany = std::size(decltype(words(Enum{})){}.all);
    if (changes()) value = static_cast<Enum>(script_.below(kMany));
  }

 private:
  bool changes() { return !script_.over() && rate_ > 0 && script_.byte() < rate_; }

  Script& script_;
  const Pool& pool_;
  const std::uint8_t rate_;
};

// Gives each id in it that says who speaks what the speaker is.
template <class Who>
class Own {
 public:
  explicit Own(const Who& who) : who_(who) {}
  template <class T>
  void operator()(T& value) {
    if constexpr (std::is_same_v<T, SessionId>)
      value = who_.session;
    else if constexpr (std::is_same_v<T, LeaseId>)
      value = who_.lease;
    else if constexpr (std::is_same_v<T, WorkerIndex>)
      value = who_.worker;
    else if constexpr (std::is_same_v<T, Epoch>)
      value = who_.epoch;
    else if constexpr (HasFields<T>)
      for_each_field(value, [this](const auto&, auto& member) { (*this)(member); });
  }

 private:
  const Who& who_;
};

}  // namespace pounce::daemon_fuzzer
