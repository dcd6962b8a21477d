// The file in the state folder in which pounced publishes its endpoint (docs/architecture.md, "Names and places"),
// for clients and supervisors that look for it after a restart. Everything in it is public. Thread: any (values).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pounce/fields.h"
#include "pounce/result.h"

namespace pounce::protocol {

struct EndpointFile {
  int v = 1;
  std::string instance, cluster;
  std::uint32_t pid = 0, uid = 0;
  std::string key;
  std::vector<std::string> handshake;
  std::string munge_socket, proof, key_file, launcher, version, log;
  std::string results, parked;
  std::uint32_t parked_most_mib = 0;
  std::vector<std::string> classes;

  static constexpr auto fields() {
    return table(field("v", &EndpointFile::v),
                 field("instance", &EndpointFile::instance),
                 field("cluster", &EndpointFile::cluster),
                 field("pid", &EndpointFile::pid),
                 field("uid", &EndpointFile::uid),
                 field("key", &EndpointFile::key, "D's public key, Z85"),
                 field("handshake", &EndpointFile::handshake, "ipc first, then tcp"),
                 field("munge_socket", &EndpointFile::munge_socket),
                 field("proof", &EndpointFile::proof),
                 field("key_file", &EndpointFile::key_file),
                 field("launcher", &EndpointFile::launcher),
                 field("version", &EndpointFile::version),
                 field("log", &EndpointFile::log),
                 field("results", &EndpointFile::results, "the folder of detached tasks (detached_record.h)"),
                 field("parked", &EndpointFile::parked, "the folder of notebooks' saved variables (parked/parked_folder.h); a kernel makes it"),
                 field("parked_most_mib", &EndpointFile::parked_most_mib, "a notebook's may take so much; 0: no limit"),
                 field("classes", &EndpointFile::classes, "that are open to this user; for completion only"));
  }
};

// The file has two lines: this statement and a seal (identity/proof.h). The seal shows a worker that knew another
// daemon that this one is of the same user.
struct EndpointLines {
  std::string_view statement, seal;
};
EndpointLines lines_of(std::string_view text);

// The statement is JSON without a newline. Decoding also accepts the whole file. Implemented in codec.cc, the only
// file that knows JSON.
std::string encode_endpoint_file(const EndpointFile& file);
Result<EndpointFile> decode_endpoint_file(std::string_view text);

}  // namespace pounce::protocol
