// pouncectl parked: lists and removes the saved variables of this user's notebooks.
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>

#include "model/json.h"
#include "pouncectl/commands.h"
#include "pouncectl/error_report.h"
#include "pouncectl/lease_row.h"
#include "pouncectl/output.h"
#include "pouncectl/parked_states.h"
#include "pouncectl/time_span.h"

namespace pounce::ctl {
namespace {

using nlohmann::json;
using parked::ParkedFolder;

constexpr std::size_t kFilesAtOnce = 1000;

struct Known {
  std::optional<ParkedFolder> folder;
  std::vector<ParkedRow> rows;
};

Result<Known> known() {
  auto folder = parked_folder();
  if (!folder) return failure(folder.error());
  Known found{std::move(*folder), {}};
  if (found.folder) found.rows = parked_rows(*found.folder);
  return found;
}

Result<std::vector<ParkedRow>> chosen(const ParkedOptions& options, const std::vector<ParkedRow>& rows) {
  if (options.all) return rows;
  if (options.older.empty()) return parked_named(rows, options.ids);
  const auto span = seconds_of(options.older);
  if (!span) return failure(span.error());
  return parked_before(rows, std::time(nullptr) - *span);
}

// On standard error, so that standard output has only the result.
bool agreed(const std::vector<ParkedRow>& rows) {
  std::cerr << parked_table(rows, std::time(nullptr)) << "Remove " << parked_sum(rows) << ", for good? [y/N] " << std::flush;
  std::string answer;
  return std::getline(std::cin, answer) && (answer == "y" || answer == "yes");
}

Result<void> remove(const ParkedFolder& folder, const std::string& id) {
  const auto aside = folder.put_aside(id);
  if (!aside) return failure(aside.error());
  auto left = ParkedFolder::Left::kMore;
  while (left == ParkedFolder::Left::kMore) left = folder.remove_some(*aside, kFilesAtOnce);
  if (left == ParkedFolder::Left::kNothing) return {};
  return failure(ErrorCode::kInternal, "not all files of " + *aside + " can be removed now", "pounced tries again within an hour; the state itself is gone.");
}

// Without a folder there are no rows.
int remove_all(const std::optional<ParkedFolder>& folder, const std::vector<ParkedRow>& rows, bool json_wanted) {
  int code = kOk;
  json removed = json::array(), failed = json::array();
  for (const ParkedRow& row : rows) {
    const auto done = remove(*folder, row.id);
    if (!done && !json_wanted) report(done.error(), false);
    if (!done) code = kFailed;
    (done ? removed : failed).push_back(done ? json(row.id) : json{{"id", row.id}, {"error", model::to_json(done.error())}});
    if (done && !json_wanted) print_line(short_id(row.id) + "  removed");
  }
  if (rows.empty() && !json_wanted) std::cout << "there is nothing to remove\n";
  if (json_wanted) print_json({{"removed", removed}, {"failed", failed}});
  return code;
}

}  // namespace

int parked_list(bool json_wanted) {
  const auto found = known();
  if (!found) return report(found.error(), json_wanted);
  if (json_wanted) {
    print_json({{"parked", model::to_json(found->rows)}});
    return kOk;
  }
  if (found->rows.empty())
    std::cout << "no notebook has saved variables here\n";
  else
    std::cout << parked_table(found->rows, std::time(nullptr)) << parked_sum(found->rows) << '\n';
  return kOk;
}

int parked_rm(const ParkedOptions& options, bool json_wanted) {
  if (const auto span = seconds_of(options.older); !options.older.empty() && !span) {
    report(span.error(), json_wanted);
    return kUsage;
  }
  const auto found = known();
  if (!found) return report(found.error(), json_wanted);
  const auto rows = chosen(options, found->rows);
  if (!rows) return report(rows.error(), json_wanted);
  if (!rows->empty() && !options.yes && !agreed(*rows))
    return report({ErrorCode::kBadRequest, "nothing was removed, for nobody said yes", "--yes removes without a question.", {}}, json_wanted);
  return remove_all(found->folder, *rows, json_wanted);
}

}  // namespace pounce::ctl
