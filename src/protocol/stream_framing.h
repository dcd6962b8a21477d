// Length-prefixed records for byte streams (the socketpairs to pounce-slurm and to the interpreter): 4 bytes big
// endian, then that many bytes. Zero-length and over-long records are errors. Thread: one per object.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "pounce/error.h"

namespace pounce::protocol {

std::string frame_record(std::string_view record);

class RecordReader {
 public:
  explicit RecordReader(std::size_t limit) : limit_(limit) {}

  void append(std::string_view bytes) { buffer_.append(bytes); }
  // The next whole record; nullopt when more bytes are needed; an Error (kProtocol) once and for all when the stream
  // announces a record of 0 or more than `limit` bytes.
  Result<std::optional<std::string>> next();

 private:
  std::size_t limit_;
  std::string buffer_;
};

}  // namespace pounce::protocol
