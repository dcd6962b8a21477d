// How many bytes, as the notebook says it too (python/pounce/_common/byte_size.py). Pure. Thread: any.
#pragma once

#include <cstdint>
#include <string>

namespace pounce::ctl {

std::string byte_size(std::uint64_t bytes);  // "412.0 MB"

}  // namespace pounce::ctl
