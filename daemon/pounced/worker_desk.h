// What supervisors say in the hall, as the core's events. A supervisor speaks for its own lease and index only. Thread: loop.
#pragma once

#include <string>

#include "pounced/books.h"
#include "pounced/core_driver.h"
#include "pounced/hall.h"
#include "pounced/named_tasks.h"

namespace pounce::daemon {

class WorkerDesk {
 public:
  WorkerDesk(Books& books, CoreDriver& driver, Hall& hall, NamedTasks& named)
      : books_(books), driver_(driver), hall_(hall), named_(named) {}

  void hear(Guest& guest, const protocol::Header& header);

 private:
  void take(Guest& guest, const protocol::WorkerUp& message);
  void take(Guest& guest, const protocol::InterpreterUp& message);
  void take(Guest& guest, const protocol::InterpreterDown& message);
  void take(Guest& guest, const protocol::WorkerBeat& message);
  void take(Guest& guest, const protocol::NamedEnded& message);
  void take(Guest& guest, const protocol::Beat& message);
  bool speaks_for(Guest& guest, const LeaseId& lease, WorkerIndex worker);
  bool interpreter_is(Guest& guest, WorkerIndex worker, Epoch epoch, const std::string& endpoint,
                      const std::string& key);
  void refuse(Guest& guest, ErrorCode code, const std::string& text);

  Books& books_;
  CoreDriver& driver_;
  Hall& hall_;
  NamedTasks& named_;
};

}  // namespace pounce::daemon
