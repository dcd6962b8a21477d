// What clients say in the hall, as the core's events. A client speaks for its own session only. Thread: loop.
#pragma once

#include <functional>
#include <string>

#include "pounced/books.h"
#include "pounced/core_driver.h"
#include "pounced/hall.h"
#include "pounced/named_tasks.h"

namespace pounce::daemon {

class ClientDesk {
 public:
  struct Answers {  // questions that need more than the core
    std::function<void(const PublicKey& asker, std::uint32_t request)> queue;
    std::function<void(const PublicKey& asker, const protocol::ClassesAsk& question)> classes;
    std::function<std::string()> status;
  };

  ClientDesk(Books& books, CoreDriver& driver, Hall& hall, NamedTasks& named, std::string notice, Answers answers)
      : books_(books), driver_(driver), hall_(hall), named_(named), notice_(std::move(notice)), answers_(std::move(answers)) {}

  void hear(Guest& guest, const protocol::Header& header, bool back);

 private:
  void take(Guest& guest, const protocol::OpenSession& message);
  void take(Guest& guest, const protocol::Demand& message);
  void take(Guest& guest, const protocol::CloseSession& message);
  void take(Guest& guest, const protocol::Beat& message);
  void take(Guest& guest, const protocol::QueueAsk& message);
  void take(Guest& guest, const protocol::ClassesAsk& message);
  void take(Guest& guest, const protocol::StatusAsk& message);
  void take(Guest& guest, const protocol::ReleaseAsk& message);
  void refuse(Guest& guest, ErrorCode code, const std::string& text);
  bool speaks_for(Guest& guest, const SessionId& session);

  Books& books_;
  CoreDriver& driver_;
  Hall& hall_;
  NamedTasks& named_;
  const std::string notice_;
  const Answers answers_;
};

}  // namespace pounce::daemon
