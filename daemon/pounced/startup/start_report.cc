#include "pounced/startup/start_report.h"

#include "base/write_all.h"
#include "protocol/codec.h"

namespace pounce::daemon {

void StartReport::failed(const Error& error) { tell(protocol::encode_error(error)); }

void StartReport::tell(std::string_view line) {
  if (!pipe_) return;
  write_all(pipe_.get(), line);  // a starter that is gone does not matter
  pipe_.reset();
}

}  // namespace pounce::daemon
