// What pounced publishes about itself in its state folder (docs/architecture.md, "Names and places"), for clients and
// supervisors that look for it after a restart. Everything in it is public. Thread: any (values).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pounce/result.h"

namespace pounce::protocol {

struct EndpointFile {
  int v = 1;
  std::string instance, cluster;
  std::uint32_t pid = 0, uid = 0;
  std::string key;                // D's public key, Z85
  std::vector<std::string> door;  // ipc first, then tcp
  std::string munge_socket, proof, key_file, launcher, version, log;
  std::string results;  // the folder of named tasks (named_record.h)
  std::vector<std::string> classes;  // that are open to this user; for completion only
};

// One line of JSON without a newline. Implemented in codec.cc, the only file that knows JSON.
std::string encode_endpoint_file(const EndpointFile& file);
Result<EndpointFile> decode_endpoint_file(std::string_view text);

}  // namespace pounce::protocol
