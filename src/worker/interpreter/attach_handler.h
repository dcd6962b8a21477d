// How a client's connection begins: its versions are compared with this worker's, and it learns what arrived before
// and which lane it may take. Thread: the leader token's holder, except where noted.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "model/ids.h"
#include "pounce/error.h"
#include "protocol/messages.h"
#include "worker/interpreter/clients.h"
#include "worker/interpreter/data_sockets.h"
#include "worker/interpreter/object_service.h"
#include "worker/interpreter/supervisor_link.h"
#include "worker/interpreter/task_runner.h"

namespace pounce::worker {

struct ModulesAhead {  // modules to load before a task needs them: those that waiting tasks name, then others
  std::vector<std::string> needs, imports;
};

class AttachHandler {
 public:
  struct Worker {  // what a client learns of it; python: "3.11"
    std::string node, devices, python;
  };
  AttachHandler(Worker worker, DataSockets& sockets, Clients& clients, ObjectService& objects, TaskRunner& tasks,
                SupervisorLink& supervisor);

  void on(const protocol::Attach& attach, const SessionId& session, ClientSeat& seat, const std::string& route);
  // Before the first job. cloudpickle is imported while the first client is introduced, so a client may attach before
  // its version is known.
  void set_cloudpickle(std::string version);

  bool modules_asked() const {
    return modules_asked_;
  }  // take_modules() has some; any thread, without the leader token
  ModulesAhead take_modules();

 private:
  std::optional<Error> mismatch(const protocol::Attach& attach, const SessionId& session) const;
  bool same_cloudpickle(ClientSeat& seat) const;  // false: the client is refused
  void welcome(const protocol::Attach& attach, const SessionId& session, ClientSeat& seat);

  const Worker worker_;
  const std::string host_, directory_;
  DataSockets& sockets_;
  Clients& clients_;
  ObjectService& objects_;
  TaskRunner& tasks_;
  SupervisorLink& supervisor_;
  std::string cloudpickle_;
  ModulesAhead modules_;
  std::atomic<bool> modules_asked_ = false;
};

}  // namespace pounce::worker
