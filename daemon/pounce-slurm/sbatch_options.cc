// SPDX-License-Identifier: GPL-3.0-or-later
#include "sbatch_options.h"

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace pounce::slurm {
namespace {

struct TextOption {
  std::string_view name;
  char* job_desc_msg_t::* field;
};
constexpr TextOption kTexts[] = {
    {"constraint", &job_desc_msg_t::features}, {"prefer", &job_desc_msg_t::prefer},
    {"exclude", &job_desc_msg_t::exc_nodes},   {"nodelist", &job_desc_msg_t::req_nodes},
    {"licenses", &job_desc_msg_t::licenses},   {"reservation", &job_desc_msg_t::reservation},
    {"account", &job_desc_msg_t::account},     {"mail-user", &job_desc_msg_t::mail_user},
    {"wckey", &job_desc_msg_t::wckey}};

struct MailWord {
  std::string_view name;
  std::uint16_t flags;
};
constexpr MailWord kMail[] = {{"NONE", 0},
                              {"BEGIN", MAIL_JOB_BEGIN},
                              {"END", MAIL_JOB_END},
                              {"FAIL", MAIL_JOB_FAIL},
                              {"TIME_LIMIT", MAIL_JOB_TIME100},
                              {"TIME_LIMIT_90", MAIL_JOB_TIME90},
                              {"TIME_LIMIT_80", MAIL_JOB_TIME80},
                              {"TIME_LIMIT_50", MAIL_JOB_TIME50},
                              {"ALL", MAIL_JOB_BEGIN | MAIL_JOB_END | MAIL_JOB_FAIL}};

tl::unexpected<Error> bad(const std::string& name, const std::string& value, const std::string& wanted) {
  return failure(ErrorCode::kBadRequest, "Slurm's --" + name + " takes " + wanted + ", not '" + value + "'");
}

std::optional<std::int64_t> number(const std::string& value, std::int64_t least, std::int64_t most) {
  std::int64_t read = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), read);
  if (error != std::errc{} || end != value.data() + value.size() || read < least || read > most) return std::nullopt;
  return read;
}

Result<void> take_mail(const std::string& value, job_desc_msg_t& message) {
  message.mail_type = 0;
  for (std::size_t start = 0; start <= value.size();) {
    const auto comma = std::min(value.find(',', start), value.size());
    const std::string_view word = std::string_view(value).substr(start, comma - start);
    const MailWord* found = nullptr;
    for (const MailWord& one : kMail)
      if (one.name == word) found = &one;
    if (found == nullptr) return bad("mail-type", value, "NONE, BEGIN, END, FAIL, TIME_LIMIT or ALL");
    message.mail_type |= found->flags;
    start = comma + 1;
  }
  return {};
}

Result<void> take_exclusive(const std::string& value, job_desc_msg_t& message) {
  if (value == "no") return {};
  if (!value.empty() && value != "yes" && value != "user") return bad("exclusive", value, "no value, yes or user");
  message.shared = value == "user" ? 2 : 0;
  return {};
}

// A user may only lower the priority.
static_assert(NICE_OFFSET + std::uint64_t{kMostNice} < NO_VAL);  // less than NICE_OFFSET is for admins
Result<void> take_nice(const std::string& value, job_desc_msg_t& message) {
  const auto nice = number(value, 0, kMostNice);
  if (!nice) return bad("nice", value, "a number from 0 to " + std::to_string(kMostNice));
  message.nice = static_cast<std::uint32_t>(NICE_OFFSET + *nice);
  return {};
}

Result<void> take_number(const std::string& name, const std::string& value, std::uint32_t& field) {
  const auto read = number(value, 0, std::numeric_limits<std::int32_t>::max());
  if (!read) return bad(name, value, name == "tmp" ? "a number of MB" : "a number");
  field = static_cast<std::uint32_t>(*read);
  return {};
}

std::string text_of(const std::string& text) { return text; }
std::string text_of(std::uint32_t number) { return number == 0 ? "" : std::to_string(number); }
std::string text_of(const auto&) { return {}; }  // of no field that names an option

Result<void> take(const std::string& name, std::string& value, job_desc_msg_t& message) {
  for (const TextOption& option : kTexts)
    if (option.name == name) {
      message.*option.field = value.data();
      return {};
    }
  if (name == "mail-type") return take_mail(value, message);
  if (name == "exclusive") return take_exclusive(value, message);
  if (name == "nice") return take_nice(value, message);
  if (name == "tmp") return take_number(name, value, message.pn_min_tmp_disk);
  if (name == "switches") return take_number(name, value, message.req_switch);
  return failure(ErrorCode::kBadRequest, "pounce passes no --" + name + " on to Slurm");
}

}  // namespace

std::map<std::string, std::string> sbatch_options(const Resources& resources) {
  std::map<std::string, std::string> options = resources.slurm;
  for_each_field(resources, [&options](const auto& field, const auto& member) {
    if (field.option.empty()) return;
    const std::string text = text_of(member);
    if (text.empty()) return;
    std::string& option = options[std::string(field.option)];
    option = field.option == "exclude" && !option.empty() ? text + "," + option : text;
  });
  return options;
}

Result<void> apply_sbatch_options(std::map<std::string, std::string>& options, job_desc_msg_t& message) {
  for (auto& [name, value] : options)
    if (const auto taken = take(name, value, message); !taken) return taken;
  return {};
}

}  // namespace pounce::slurm
