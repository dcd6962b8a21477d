// Thread: any.
#pragma once

#include <string_view>

namespace pounce {

bool write_all(int fd, std::string_view bytes);  // false: errno says why; a part may be written

}  // namespace pounce
