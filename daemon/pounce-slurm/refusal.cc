// SPDX-License-Identifier: GPL-3.0-or-later
#include "refusal.h"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "associations.h"
#include "classes.h"
#include "slurm_error.h"

namespace pounce::slurm {
namespace {

struct FreeReservations {
  void operator()(reserve_info_msg_t* message) const { slurm_free_reservation_info_msg(message); }
};

void add(std::string& list, const std::string& word) { list += (list.empty() ? "" : ", ") + word; }

std::string names_of(const std::vector<UserAccount>& accounts) {
  std::string names;
  for (const UserAccount& one : accounts) add(names, one.name);
  return names;
}

Error of_account(Error error, const JobSpec& spec) {
  const auto accounts = load_accounts_of_user(user_name());
  const std::string user = "user " + user_name(), &asked = spec.resources.account;
  if (!accounts || accounts->empty()) {
    error.text = user + ": " + error.text;
    return error;
  }
  error.text = user + (asked.empty() ? " has no default account" : " has no account '" + asked + "'") +
               "; the accounts are " + names_of(*accounts);
  error.remedy = "Name one of them: account=" + (accounts->front().name) + ", or --account in a cell.";
  return error;
}

// A QoS is open in some accounts and not in others.
std::string accounts_with(std::uint32_t qos, const std::vector<UserAccount>& accounts) {
  std::string names;
  for (const UserAccount& one : accounts)
    if (one.qos.contains(qos)) add(names, one.name);
  return names;
}

Error of_class(Error error, const JobSpec& spec) {
  const auto classes = load_classes();  // the newest: the person will act on it
  if (!classes) return error;
  const std::string& qos = spec.qos.empty() ? spec.resources.class_name : spec.qos;
  const std::string name = "class '" + spec.resources.class_name + "'" +
                           (qos == spec.resources.class_name ? "" : " (QoS '" + qos + "')");
  const UserClass* found = find(*classes, qos);
  const auto accounts = load_accounts_of_user(user_name());
  if (found == nullptr)
    error.text = "there is no " + name;
  else if (const std::string where = accounts ? accounts_with(found->id, *accounts) : ""; found->open && !where.empty())
    return {error.code, name + " is not open in the account of this job; it is in: " + where,
            "Name one of these accounts: account=, or --account in a cell.", error.context};
  else
    error.text = name + " is not open to user " + user_name();
  error.text += "; the classes are " + class_names(*classes);
  return error;
}

Error of_reservation(Error error, const JobSpec& spec) {
  reserve_info_msg_t* raw = nullptr;
  if (slurm_code(slurm_load_reservations(0, &raw)) != 0) return error;
  const std::unique_ptr<reserve_info_msg_t, FreeReservations> message(raw);
  std::string names;
  for (std::uint32_t i = 0; i < message->record_count; ++i) add(names, text(message->reservation_array[i].name));
  error.text = "reservation '" + spec.resources.reservation + "': " + error.text;
  error.text += names.empty() ? "; there is none now" : "; the reservations are " + names;
  error.remedy = names.empty() ? "Leave the reservation out." : "Name one that is open to you, or none.";
  return error;
}

bool is_about_reservation(const Error& error) {
  const auto code = error.context.find("slurm_code");
  if (code == error.context.end()) return false;
  for (const int one : {ESLURM_RESERVATION_ACCESS, ESLURM_RESERVATION_INVALID, ESLURM_RESERVATION_NOT_USABLE})
    if (code->second == std::to_string(one)) return true;
  return false;
}

}  // namespace

Error explained(Error error, const JobSpec& spec) {
  if (error.code == ErrorCode::kNoAssociation) return of_account(std::move(error), spec);
  if (error.code == ErrorCode::kUnknownClass) return of_class(std::move(error), spec);
  if (error.code == ErrorCode::kUnsatisfiable) error.text += "; asked for: " + asked_for(spec.resources);
  if (is_about_reservation(error)) return of_reservation(std::move(error), spec);
  return error;
}

}  // namespace pounce::slurm
