// SPDX-License-Identifier: GPL-3.0-or-later
#include "associations.h"

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

}  // namespace pounce::slurm
