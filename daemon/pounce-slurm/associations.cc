// SPDX-License-Identifier: GPL-3.0-or-later
#include "associations.h"

#include <unistd.h>

#include <charconv>
#include <string_view>

#include "slurm_error.h"

namespace pounce::slurm {
namespace {

Result<Associations> load(std::string name, decltype(assoc_mgr_info_request_msg_t::user_list) assoc_mgr_info_request_msg_t::*by) {
  assoc_mgr_info_request_msg_t request{};
  request.flags = ASSOC_MGR_INFO_FLAG_QOS | ASSOC_MGR_INFO_FLAG_ASSOC;
  request.*by = slurm_list_create(nullptr);
  slurm_list_append(request.*by, name.data());
  assoc_mgr_info_msg_t* raw = nullptr;
  const int code = slurm_code(slurm_load_assoc_mgr_info(&request, &raw));
  slurm_list_destroy(request.*by);
  if (code != 0) return failure(slurm_error(code, Doing::kReading));
  return Associations(raw);
}

}  // namespace

Result<Associations> load_associations_of_user(const std::string& user) {
  return load(user, &assoc_mgr_info_request_msg_t::user_list);
}

Result<Associations> load_associations_of_account(const std::string& account) {
  return load(account, &assoc_mgr_info_request_msg_t::acct_list);
}

std::vector<UserAccount> accounts_in(const assoc_mgr_info_msg_t& message, const std::string& user) {
  std::vector<UserAccount> accounts;
  for_each<slurmdb_assoc_rec_t>(message.assoc_list, [&](const slurmdb_assoc_rec_t& association) {
    if (text(association.user) != user) return;
    UserAccount account{text(association.acct), association.is_def != 0, association.def_qos_id};
    for_each<char>(association.qos_list, [&](const char& id) {
      const std::string_view digits(&id);
      std::uint32_t number = 0;
      if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec == std::errc{})
        account.qos.insert(number);
    });
    accounts.push_back(std::move(account));
  });
  return accounts;
}

Result<std::vector<UserAccount>> load_accounts_of_user(const std::string& user) {
  const auto message = load_associations_of_user(user);
  if (!message) return failure(message.error());
  return accounts_in(**message, user);
}

std::uint32_t place_of(const assoc_mgr_info_msg_t& message, const std::string& tres) {
  std::uint32_t place = 0;
  while (place < message.tres_cnt && text(message.tres_names[place]) != tres) ++place;
  return place;
}

const slurmdb_used_limits_t* used_by_us(const slurmdb_qos_rec_t& qos) {
  const slurmdb_used_limits_t* found = nullptr;
  if (qos.usage != nullptr)
    for_each<slurmdb_used_limits_t>(qos.usage->user_limit_list, [&](const slurmdb_used_limits_t& one) {
      if (one.uid == ::geteuid()) found = &one;
    });
  return found;
}

}  // namespace pounce::slurm
