#include "daemon_fuzzer/witness.h"

#include "protocol/codec.h"
#include "protocol/message_limits.h"

namespace pounce::daemon_fuzzer {
namespace {

using namespace protocol;

template <class... Types>
bool is_one_of(const Header& header) {
  return (std::holds_alternative<Types>(header) || ...);
}

std::string type_of(const Header& header) {
  return std::visit([](const auto& message) { return std::string(message.kType); }, header);
}

// The number of the question that this answers; 0: it is none, or news of a detached task.
std::uint32_t answers(const Header& header) {
  return std::visit(
      [](const auto& message) -> std::uint32_t {
        if constexpr (requires { message.question; })
          return message.question;
        else
          return 0;
      },
      header);
}

}  // namespace

void Witness::says(const Actor& client, const Header& header) {
  if (const auto* demand = std::get_if<Demand>(&header))
    for (const Request& request : demand->requests) {
      wanted_[client.session].insert(request.id);
      named_[client.session].insert(request.holds.begin(), request.holds.end());
    }
}

void Witness::sees(const std::vector<lease::LeaseView>& leases) {
  for (const lease::LeaseView& view : leases)
    if (view.owner) owners_[view.lease].insert(view.owner->session);
}

bool Witness::may_know(const SessionId& session, const LeaseId& lease) const {
  const auto owners = owners_.find(lease);
  if (owners == owners_.end() || owners->second.contains(session)) return true;
  const auto named = named_.find(session);
  return named != named_.end() && named->second.contains(lease);
}

std::string Witness::trouble_with(Actor& to, const std::string& frame, const std::vector<Actor>& all) {
  const auto header = decode(frame, kControlMessageBytes);
  const std::string whom = "peer " + std::to_string(to.number) + " is sent ";
  if (!header) return whom + "what it cannot read: " + header.error().text + "\n" + frame;
  std::string trouble = to.role == Role::kClient ? trouble_with_news(to, *header) : trouble_with_order(to, *header);
  if (trouble.empty() && answers(*header) != 0) {
    const auto asked = to.questions.find({type_of(*header), answers(*header)});
    if (asked == to.questions.end())
      trouble = "the answer to a question that it did not ask";
    else
      to.questions.erase(asked);
  }
  if (trouble.empty()) trouble = trouble_with_text(to, *header, frame, all);
  return trouble.empty() ? "" : whom + trouble + "\n" + frame;
}

std::string Witness::trouble_with_news(const Actor& client, const Header& header) const {
  if (!is_one_of<Refused, Beat, Notice, Granted, LeaseStatus, WorkerDown, LeaseEnded, RequestFailed, QueueIs, ClassesIs,
                 StatusIs, ReleaseIs, DetachedList>(header))
    return "what is not for clients";
  std::string trouble;
  std::visit(
      [&](const auto& message) {
        using Message = std::decay_t<decltype(message)>;
        if constexpr (requires { message.lease; } && !std::is_same_v<Message, Hello>)
          if (!may_know(client.session, message.lease)) trouble = "news of another's lease";
        if constexpr (requires { message.request; }) {
          const auto wanted = wanted_.find(client.session);
          if (wanted != wanted_.end() && !wanted->second.contains(message.request))
            trouble = "news of a request that it did not make";
        }
      },
      header);
  return trouble;
}

std::string Witness::trouble_with_order(const Actor& worker, const Header& header) const {
  if (!is_one_of<Refused, Beat, Admit, Dismiss, EndWorker, RunDetached, Walltime, YieldSteps>(header))
    return "what is not for workers";
  std::string trouble;
  std::visit(
      [&](const auto& message) {
        using Message = std::decay_t<decltype(message)>;
        if constexpr (std::is_same_v<Message, Admit> || std::is_same_v<Message, Dismiss> ||
                      std::is_same_v<Message, EndWorker> || std::is_same_v<Message, YieldSteps> ||
                      std::is_same_v<Message, RunDetached>)
          if (message.lease != worker.lease) trouble = "an order for another lease";
        if constexpr (std::is_same_v<Message, Admit> || std::is_same_v<Message, RunDetached>)
          if (trouble.empty() && !may_know(message.session, worker.lease))
            trouble = "a client that it does not work for";
      },
      header);
  return trouble;
}

// Environments are shown to nobody. Who a session is stands in the status of the whole daemon only.
std::string Witness::trouble_with_text(const Actor& to, const Header& header, const std::string& frame,
                                       const std::vector<Actor>& all) const {
  const bool whole = is_one_of<StatusIs>(header);
  for (const Actor& other : all) {
    if (other.role == Role::kWorker) {
      const bool hidden =
          to.role == Role::kClient && !is_one_of<DetachedList, StatusIs>(header) && !may_know(to.session, other.lease);
      if (hidden && frame.find(told_by(other.lease)) != std::string::npos)
        return "what a worker of another's lease told";
      continue;
    }
    if (other.session == to.session) continue;
    if (frame.find(other.secret()) != std::string::npos) return "another's environment";
    if (!whole && frame.find(other.place()) != std::string::npos) return "another's folder";
    if (to.role == Role::kClient && !whole && !is_one_of<DetachedList>(header) &&
        frame.find(other.session.hex()) != std::string::npos)
      return "another's session";
  }
  return {};
}

}  // namespace pounce::daemon_fuzzer
