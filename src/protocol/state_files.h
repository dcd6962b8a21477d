// What pounced writes in its state folder for others and for itself after a restart. Implemented in codec.cc, the only
// file that knows JSON. Thread: any (values).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pounce/error.h"
#include "pounce/fields.h"
#include "protocol/messages.h"

namespace pounce::protocol {

// What pounced publishes about itself (docs/internals.md, "Names and places"), for clients and supervisors that
// look for it after a restart. Everything in it is public.
struct EndpointFile {
  int v = 1;
  std::string instance, cluster;
  std::uint32_t pid = 0, uid = 0;
  std::string key;
  std::vector<std::string> handshake;
  std::string munge_socket, proof, key_file, launcher, version, log;
  std::string results, parked, notify;
  std::uint32_t parked_most_mib = 0, cell_output_mib = 0, keep_cells = 0;
  std::int64_t parked_keep_s = 0;
  std::vector<std::string> classes;

  static constexpr auto fields() {
    return table(field("v", &EndpointFile::v), field("instance", &EndpointFile::instance),
                 field("cluster", &EndpointFile::cluster), field("pid", &EndpointFile::pid),
                 field("uid", &EndpointFile::uid), field("key", &EndpointFile::key, "D's public key, Z85"),
                 field("handshake", &EndpointFile::handshake, "ipc first, then tcp"),
                 field("munge_socket", &EndpointFile::munge_socket), field("proof", &EndpointFile::proof),
                 field("key_file", &EndpointFile::key_file), field("launcher", &EndpointFile::launcher),
                 field("version", &EndpointFile::version), field("log", &EndpointFile::log),
                 field("results", &EndpointFile::results, "the folder of detached tasks (detached_record.h)"),
                 field("parked", &EndpointFile::parked,
                       "the folder of notebooks' saved variables (saved_state/saved_states.h); a kernel makes it"),
                 field("parked_most_mib", &EndpointFile::parked_most_mib, "a notebook's may take so much; 0: no limit"),
                 field("parked_keep_s", &EndpointFile::parked_keep_s, "they are kept so long"),
                 field("cell_output_mib", &EndpointFile::cell_output_mib,
                       "of the output of a cell that goes on without its kernel; 0: none goes on"),
                 field("keep_cells", &EndpointFile::keep_cells, "1: every cell goes on"),
                 field("notify", &EndpointFile::notify, "the policy's; empty: none"),
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

// What pounced remembers of a detached task: `record` in the task's folder, 0600, written by rename. It holds what is
// needed to have the task run, and what became of it; never what it computes with.
struct DetachedRecord {
  int v = 1;
  std::string instance;
  DetachedRow row;
  OpenSession opened;
  Resources resources;
  std::uint32_t retries = 0;
  WorkerIndex worker;
  Epoch epoch;
  std::string key;

  static constexpr auto fields() {
    return table(field("v", &DetachedRecord::v),
                 field("instance", &DetachedRecord::instance, "whose pounced has it run"),
                 field("row", &DetachedRecord::row),
                 field("opened", &DetachedRecord::opened,
                       "of the kernel that submitted it: interpreter, directory, environment"),
                 field("resources", &DetachedRecord::resources), field("retries", &DetachedRecord::retries, "left"),
                 field("worker", &DetachedRecord::worker, "who was told to run it, and its interpreter then"),
                 field("epoch", &DetachedRecord::epoch),
                 field("key", &DetachedRecord::key,
                       "that interpreter's: a job that is started a second time counts from the same epoch again"));
  }
};

// Implemented in codec.cc, the only file that knows JSON.
std::string encode_detached_record(const DetachedRecord& record);
std::optional<DetachedRecord> decode_detached_record(std::string_view text);

}  // namespace pounce::protocol
