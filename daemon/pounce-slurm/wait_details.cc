// SPDX-License-Identifier: GPL-3.0-or-later
// Why queued jobs wait: the numbers of the limit, how many jobs go first.

#include "pounce-slurm/wait_details.h"

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "pounce-slurm/facts.h"
#include "pounce-slurm/forecast.h"
#include "pounce-slurm/libslurm_values.h"
#include "slurm/partition.h"

namespace pounce::slurm {
namespace {

using Per = job::Limit::Per;
using Thing = job::Limit::Thing;

// The limits and the use of one QoS or association that the reason concerns. Arrays have the order of tres_names.
struct Book {
  const std::uint64_t *most = nullptr, *used = nullptr;
  std::uint32_t jobs = NO_VAL, submits = NO_VAL, minutes = NO_VAL;
  std::uint64_t jobs_used = 0, submits_used = 0;
};

bool is_of(const char* tres, Thing thing) {
  const std::string name = tres != nullptr ? tres : "";
  switch (thing) {
    case Thing::kCpus:
      return name == "cpu";
    case Thing::kMemory:
      return name == "mem";
    case Thing::kNodes:
      return name == "node";
    case Thing::kGpus:
      return name.starts_with("gres/");
    case Thing::kLicences:
      return name.starts_with("license/");
    case Thing::kStorage:
      return name.starts_with("bb/");
    case Thing::kEnergy:
      return name == "energy";
    case Thing::kCharge:
      return name == "billing";
    default:
      return false;
  }
}

bool exceeded(const job::Limit& limit, const LimitUse& use) {
  if (limit.least) return use.asked < use.most;
  return use.used + use.asked > use.most;
}

LimitUse of_tres(const assoc_mgr_info_msg_t& message, const job::Limit& limit, const JobRequest& request,
                 const Book& book) {
  if (book.most == nullptr) return {};
  for (std::uint32_t i = 0; i < message.tres_cnt; ++i) {
    if (!is_of(message.tres_names[i], limit.thing) || !is_set(book.most[i])) continue;
    const std::string name = message.tres_names[i];
    const LimitUse use{name, book.most[i], book.used != nullptr ? book.used[i] : 0, tres_count(request.tres, name)};
    if (exceeded(limit, use)) return use;
  }
  return {};
}

LimitUse of_book(const assoc_mgr_info_msg_t& message, const job::Limit& limit, const JobRequest& request,
                 const Book& book) {
  const auto counted = [&](const char* what, std::uint32_t most, std::uint64_t used, std::uint64_t requests) {
    const LimitUse use{what, most, used, requests};
    return is_set(most) && exceeded(limit, use) ? use : LimitUse{};
  };
  switch (limit.thing) {
    case Thing::kJobs:
      return counted("job", book.jobs, book.jobs_used, 1);
    case Thing::kSubmitted:
      return counted("job", book.submits, book.submits_used, 1);
    case Thing::kTime:
      return counted("time", book.minutes, 0, request.minutes);
    default:
      return of_tres(message, limit, request, book);
  }
}

Book used_by(const slurmdb_used_limits_t* who) {
  Book book;
  if (who != nullptr) book.used = who->tres, book.jobs_used = who->jobs, book.submits_used = who->submit_jobs;
  return book;
}

const slurmdb_used_limits_t* of_account(const slurmdb_qos_rec_t& qos, const std::string& account) {
  const slurmdb_used_limits_t* found = nullptr;
  if (qos.usage != nullptr)
    for_each<slurmdb_used_limits_t>(qos.usage->acct_limit_list, [&](const slurmdb_used_limits_t& one) {
      if (one.acct != nullptr && account == one.acct) found = &one;
    });
  return found;
}

Book book_of(const slurmdb_qos_rec_t& qos, const job::Limit& limit, const std::string& account) {
  Book book;
  switch (limit.per) {
    case Per::kUser:
      book = used_by(used_by_us(qos));
      book.most = qos.max_tres_pu_ctld, book.jobs = qos.max_jobs_pu, book.submits = qos.max_submit_jobs_pu;
      break;
    case Per::kAccount:
      book = used_by(of_account(qos, account));
      book.most = qos.max_tres_pa_ctld, book.jobs = qos.max_jobs_pa, book.submits = qos.max_submit_jobs_pa;
      break;
    case Per::kEverybody:
      book.most = qos.grp_tres_ctld, book.jobs = qos.grp_jobs, book.submits = qos.grp_submit_jobs;
      if (qos.usage == nullptr) break;
      book.used = qos.usage->grp_used_tres;
      book.jobs_used = qos.usage->grp_used_jobs, book.submits_used = qos.usage->grp_used_submit_jobs;
      break;
    case Per::kJob:
      book.most = limit.least ? qos.min_tres_pj_ctld : qos.max_tres_pj_ctld, book.minutes = qos.max_wall_pj;
      break;
    case Per::kNode:
      book.most = qos.max_tres_pn_ctld;
      break;
  }
  return book;
}

Book book_of(const slurmdb_assoc_rec_t& association, const job::Limit& limit) {
  Book book;
  if (association.usage != nullptr) {
    book.jobs_used = association.usage->used_jobs, book.submits_used = association.usage->used_submit_jobs;
    book.used = association.usage->grp_used_tres;
  }
  switch (limit.per) {
    case Per::kEverybody:
      book.most = association.grp_tres_ctld, book.jobs = association.grp_jobs,
      book.submits = association.grp_submit_jobs;
      break;
    case Per::kJob:
      book.most = association.max_tres_ctld, book.used = nullptr, book.minutes = association.max_wall_pj;
      break;
    case Per::kNode:
      book.most = association.max_tres_pn_ctld, book.used = nullptr;
      break;
    case Per::kUser:
    case Per::kAccount:
      book.jobs = association.max_jobs, book.submits = association.max_submit_jobs;
      break;
  }
  return book;
}

// The user's own association has precedence over that of the whole account.
LimitUse of_associations(const assoc_mgr_info_msg_t& message, const job::Limit& limit, const JobRequest& request,
                         const std::string& user) {
  LimitUse found;
  for_each<slurmdb_assoc_rec_t>(message.assoc_list, [&](const slurmdb_assoc_rec_t& association) {
    const std::string whose = association.user != nullptr ? association.user : "";
    if (found.what.empty() && whose == user && association.acct != nullptr && request.account == association.acct)
      found = of_book(message, limit, request, book_of(association, limit));
  });
  return found;
}

}  // namespace

LimitUse limit_use(const assoc_mgr_info_msg_t& message, const job::Limit& limit, const JobRequest& request) {
  if (limit.measure != job::Limit::Measure::kAtOnce) return {};
  LimitUse found;
  if (limit.of == job::Limit::Of::kClass) {
    for_each<slurmdb_qos_rec_t>(message.qos_list, [&](const slurmdb_qos_rec_t& qos) {
      if (qos.name != nullptr && request.class_name == qos.name)
        found = of_book(message, limit, request, book_of(qos, limit, request.account));
    });
    return found;
  }
  found = of_associations(message, limit, request, user_name());
  if (!found.what.empty() || limit.per != Per::kEverybody) return found;
  const auto whole = load_associations_of_account(request.account);
  return whole ? of_associations(**whole, limit, request, "") : found;
}

std::uint64_t tres_count(const std::string& tres, const std::string& name) {
  const std::string all = "," + tres, key = "," + name + "=";
  const auto at = all.find(key);
  if (at == std::string::npos) return 0;
  char* unit = nullptr;
  double count = std::strtod(all.c_str() + at + key.size(), &unit);
  if (name == "mem" && *unit == 'G') count *= 1024;
  if (name == "mem" && *unit == 'T') count *= 1024 * 1024;
  return static_cast<std::uint64_t>(count);
}

namespace {

JobRequest job_request_of(const slurm_job_info_t& job) {
  JobRequest request{text(job.qos), text(job.account), text(job.tres_req_str), 0};
  if (is_set(job.time_limit)) request.minutes = job.time_limit;
  return request;
}

InLine in_line(const forecast::AnyJob& job) { return {job.id, job.priority, joined(job.partitions, ",")}; }

void explain_limits(const std::vector<const slurm_job_info_t*>& jobs, std::vector<JobView>& views) {
  Associations known;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (views[i].state != JobState::kQueued) continue;
    const auto limit = job::limit_of(views[i].reason_word);
    if (!limit || limit->measure != job::Limit::Measure::kAtOnce) continue;
    if (!known) {
      auto loaded = load_associations_of_user(user_name());
      if (!loaded) return;  // then the reason has no numbers
      known = std::move(*loaded);
    }
    views[i].limit = limit_use(*known, *limit, job_request_of(*jobs[i]));
  }
}

void explain_line(const std::vector<const slurm_job_info_t*>& jobs, std::vector<JobView>& views) {
  const auto waits = [](const JobView& view) { return view.state == JobState::kQueued && competes(view.reason_word); };
  if (std::ranges::none_of(views, waits) || jobs_are_private()) return;
  std::vector<InLine> line;
  for (const forecast::AnyJob& job : latest_cluster().jobs)
    if (job.competes) line.push_back(in_line(job));
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (waits(views[i])) views[i].ahead = jobs_ahead(line, in_line(any_job(*jobs[i])));
}

}  // namespace

void explain_waits(const std::vector<const slurm_job_info_t*>& jobs, std::vector<JobView>& views) {
  explain_limits(jobs, views);
  explain_line(jobs, views);
  expect_starts(jobs, views);
}

}  // namespace pounce::slurm
