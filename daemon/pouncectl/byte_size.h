// A number of bytes in the notebook's words (python/pounce/_common/byte_size.py). Pure. Thread: any.
#pragma once

#include <cstdint>
#include <string>

namespace pounce::ctl {

std::string byte_size(std::uint64_t bytes);  // "412.0 MB"

}  // namespace pounce::ctl
