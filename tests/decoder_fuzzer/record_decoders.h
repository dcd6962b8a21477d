// Of decoders(): what shows who somebody is, and what pounce itself has written down for later.
#pragma once

#include "decoder_fuzzer/decoder.h"

namespace pounce::decoder_fuzzer {

std::vector<Decoder> record_decoders();

}  // namespace pounce::decoder_fuzzer
