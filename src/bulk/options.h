// The bounds of a lane's connections. Thread: any (values).
#pragma once

#include <chrono>

#include "bulk/fetches.h"
#include "tls/options.h"

namespace pounce::bulk {

inline tls::Options stream_options() {
  tls::Options options;
  options.max_frame_bytes = Fetches::kPieceBytes;
  options.max_frames = 2;
  options.handshake = std::chrono::seconds(2);  // a firewall that drops packets costs a worker this long, once
  return options;
}

}  // namespace pounce::bulk
