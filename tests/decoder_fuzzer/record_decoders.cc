#include "decoder_fuzzer/record_decoders.h"

#include <stdlib.h>

#include <cctype>
#include <filesystem>

#include "identity/proof.h"
#include "pouncectl/policy/history.h"
#include "protocol/codec.h"
#include "protocol/state_files.h"
#include "unit/protocol/examples.h"

namespace pounce::decoder_fuzzer {
namespace {

using Text = std::optional<std::string>;

const char* const kForged = "it was believed, and is not what its owner made";

// A key file like a user's, for as long as the process lives.
class KeyFile {
 public:
  KeyFile() {
    char folder[] = "/tmp/pounce-fuzz-XXXXXX";
    folder_ = ::mkdtemp(folder);
    static_cast<void>(identity::make_key_file(path()));
  }
  ~KeyFile() { std::filesystem::remove_all(folder_); }
  KeyFile(const KeyFile&) = delete;
  KeyFile& operator=(const KeyFile&) = delete;
  std::string path() const { return folder_ + "/key"; }

 private:
  std::string folder_;
};

const std::string& key_file() {
  static const KeyFile file;
  static const std::string path = file.path();
  return path;
}

identity::Claim example_claim() {
  identity::Claim claim;
  claim.role = "worker", claim.subject = protocol::kLease.hex();
  return claim;
}

std::string own_proof() { return *identity::key_file_proof(example_claim(), key_file()); }

Text proof_again(std::string_view bytes) {
  if (!identity::verify_key_file_proof(example_claim(), bytes, key_file())) return std::nullopt;
  return bytes == own_proof() ? own_proof() : kForged;
}

SecretKey example_key() {
  SecretKey key;
  key.bytes().fill(7);
  return key;
}

std::string sealed(std::string_view statement) {
  return std::string(statement) + "\n" + identity::key_seal(statement, example_key());
}

// The two lines of an endpoint file: a daemon's word and the seal under it, whose digits may be of either case.
Text seal_again(std::string_view bytes) {
  const auto [statement, seal] = protocol::lines_of(bytes);
  if (!identity::is_key_seal(statement, seal, example_key())) return std::nullopt;
  std::string digits(seal);
  for (char& digit : digits) digit = static_cast<char>(std::tolower(static_cast<unsigned char>(digit)));
  return digits == identity::key_seal(statement, example_key()) ? sealed(statement) : kForged;
}

Text detached_again(std::string_view bytes) {
  const auto record = protocol::decode_detached_record(bytes);
  return record ? Text(protocol::encode_detached_record(*record)) : std::nullopt;
}

std::vector<std::string> detached_records() {
  protocol::DetachedRecord record;
  record.instance = "0123456789ab", record.row = protocol::example_detached_row(),
  record.resources = protocol::example_resources();
  for (const protocol::Header& header : protocol::one_of_each())
    if (const auto* opened = std::get_if<protocol::OpenSession>(&header)) record.opened = *opened;
  record.retries = 3, record.key = protocol::kKey;
  return {protocol::encode_detached_record({}), protocol::encode_detached_record(record)};
}

Text exit_code_again(std::string_view bytes) {
  const auto code = protocol::decode_exit_code(bytes);
  return code ? Text(R"({"exit_code":)" + std::to_string(*code) + "}") : std::nullopt;
}

Text policy_record_again(std::string_view bytes) {
  const auto record = ctl::decode_record(std::string(bytes));
  return record ? Text(ctl::encode_record(*record)) : std::nullopt;
}

std::vector<std::string> policy_records() {
  ctl::PolicyRecord record;
  record.when = "2026-01-01T12:00:00", record.who = "root", record.note = "more for lion", record.file = "policy.json";
  record.done = true, record.changed = {"lion"};
  Qos lion{.name = "lion", .walltime = std::chrono::minutes(60), .gpus_per_user = 4, .priority = 100};
  record.before = {lion};
  lion.preempts = {"cheetah"}, lion.grace = std::chrono::seconds(30);
  record.after = {Qos{.name = "cheetah"}, lion};
  return {ctl::encode_record({}), ctl::encode_record(record)};
}

}  // namespace

std::vector<Decoder> record_decoders() {
  return {
      {"proof", proof_again, [] { return std::vector<std::string>{own_proof()}; }},
      {"seal", seal_again,
       [] { return std::vector<std::string>{sealed(R"({"v":1,"instance":"0123456789ab"})"), sealed("")}; }},
      {"detached", detached_again, detached_records},
      {"exit_code", exit_code_again,
       [] { return std::vector<std::string>{R"({"exit_code":0})", R"({"exit_code":-9})"}; }},
      {"policy_record", policy_record_again, policy_records},
  };
}

}  // namespace pounce::decoder_fuzzer
