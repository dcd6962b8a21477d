#include "worker/interpreter/attach_handler.h"

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "base/network.h"
#include "pounce/version.h"

namespace pounce::worker {
namespace {

std::string working_directory() {
  const std::unique_ptr<char, decltype(&std::free)> path(::get_current_dir_name(), std::free);
  return path ? path.get() : "";
}

}  // namespace

AttachHandler::AttachHandler(Worker worker, DataSockets& sockets, Clients& clients, ObjectService& objects,
                             TaskRunner& tasks, SupervisorLink& supervisor)
    : worker_(std::move(worker)),
      host_(host_name()),
      directory_(working_directory()),
      sockets_(sockets),
      clients_(clients),
      objects_(objects),
      tasks_(tasks),
      supervisor_(supervisor) {}

void AttachHandler::on(const protocol::Attach& attach, const SessionId& session, ClientSeat& seat,
                       const std::string& route) {
  // A forked child may hold it open.
  if (seat.route != route && sockets_.polled_for_room(seat.route)) sockets_.cut(seat.route);
  seat.route = route;
  seat.outbox.clear();
  seat.attached = false;
  if (auto error = mismatch(attach, session)) return seat.refuse(std::move(*error));
  seat.cloudpickle = attach.cloudpickle;
  if (!same_cloudpickle(seat)) return;
  seat.attached = true;
  seat.outbox.pack(attach.several && !sockets_.polled_for_room(route));
  modules_ = {attach.needs, attach.imports};
  modules_asked_ = !modules_.needs.empty() || !modules_.imports.empty();
  supervisor_.changed();
  welcome(attach, session, seat);
  if (tasks_.ending()) tasks_.tell_leaving(seat);
}

std::optional<Error> AttachHandler::mismatch(const protocol::Attach& attach, const SessionId& session) const {
  const auto error = [](ErrorCode code, std::string text) { return Error{code, std::move(text), {}, {}}; };
  if (attach.session != session) return error(ErrorCode::kNotAuthenticated, "this key belongs to another session");
  if (attach.pounce != kVersion)
    return error(ErrorCode::kVersionMismatch, "the notebook has pounce " + attach.pounce + ", the worker " + kVersion);
  if (!attach.python.empty() && attach.python != worker_.python)  // empty: a client without Python sends commands only
    return error(ErrorCode::kVersionMismatch,
                 "the notebook runs Python " + attach.python + ", the worker Python " + worker_.python);
  return std::nullopt;
}

void AttachHandler::welcome(const protocol::Attach& attach, const SessionId& session, ClientSeat& seat) {
  protocol::Attached answer{
      kVersion, worker_.python, cloudpickle_, host_, worker_.node, worker_.devices, directory_, 0, {}, {}};
  answer.pid = static_cast<std::uint32_t>(::getpid());
  answer.reached = objects_.reattach(session, seat);
  answer.several = true;
  // On one machine memory is handed over, and no untrusted peer can read it on the way.
  const auto invitation =
      attach.no_bulk || sockets_.polled_for_room(seat.route) ? std::nullopt : objects_.lanes().invite(session);
  if (invitation) {
    answer.bulk = invitation->endpoint;
    seat.outbox.post(answer, {own_bytes(invitation->keys)});
  } else {
    seat.outbox.post(answer);
  }
}

void AttachHandler::set_cloudpickle(std::string version) {
  cloudpickle_ = std::move(version);
  for (auto& [session, seat] : clients_.seats())
    if (seat.attached && !same_cloudpickle(seat)) tasks_.dismiss(session);
  clients_.flush();
}

bool AttachHandler::same_cloudpickle(ClientSeat& seat) const {
  if (cloudpickle_.empty() || seat.cloudpickle.empty() || seat.cloudpickle == cloudpickle_) return true;
  seat.attached = false;
  seat.refuse(ErrorCode::kVersionMismatch,
              "the notebook has cloudpickle " + seat.cloudpickle + ", the worker cloudpickle " + cloudpickle_);
  return false;
}

ModulesAhead AttachHandler::take_modules() {
  modules_asked_ = false;
  return std::exchange(modules_, {});
}

}  // namespace pounce::worker
