#include "pouncectl/display_width.h"

#include <locale.h>
#include <wchar.h>

#include <algorithm>

namespace pounce::ctl {
namespace {

// Sets this thread's locale to UTF-8 for its lifetime. If the C library has no such locale, each byte is a character.
class Utf8Locale {
 public:
  Utf8Locale() : utf8_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", locale_t{})) {
    if (utf8_ != locale_t{}) before_ = ::uselocale(utf8_);
  }
  ~Utf8Locale() {
    if (utf8_ == locale_t{}) return;
    ::uselocale(before_);
    ::freelocale(utf8_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  const locale_t utf8_;
  locale_t before_{};
};

}  // namespace

std::size_t display_width(std::string_view text) {
  if (std::ranges::all_of(text, [](char byte) { return byte >= ' ' && byte <= '~'; })) return text.size();
  const Utf8Locale locale;
  std::size_t width = 0;
  for (mbstate_t state{}; !text.empty();) {
    wchar_t character = 0;
    const std::size_t bytes = ::mbrtowc(&character, text.data(), text.size(), &state);
    const bool whole = bytes != 0 && bytes <= text.size();  // otherwise invalid, incomplete, or the byte 0
    width += whole ? static_cast<std::size_t>(std::max(::wcwidth(character), 0)) : 1;
    text.remove_prefix(whole ? bytes : 1);
    if (!whole) state = {};
  }
  return width;
}

}  // namespace pounce::ctl
