#include "pounced/journal_line.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "pounced/crc32c.h"

namespace pounce::daemon {
namespace {

using lease::JournalRecord;
using nlohmann::json;

constexpr std::string_view kStart = "{\"crc32c\":\"", kMiddle = "\",\"record\":", kEnd = "}";
constexpr std::size_t kCrcDigits = 8;
constexpr std::string_view kKinds[] = {"intent", "submitted", "ended"};

std::string checksum(std::string_view body) {
  char text[kCrcDigits + 1];
  std::snprintf(text, sizeof text, "%08x", crc32c(body));
  return text;
}

json resources_to_json(const Resources& resources) {
  return {{"class", resources.class_name},
          {"gpus", resources.gpus},
          {"gpu_type", resources.gpu_type},
          {"cpus", resources.cpus},
          {"memory_mib", resources.memory_mib},
          {"time_min", resources.time.count()},
          {"workers", resources.workers},
          {"gpu_memory_mib", resources.gpu_memory_mib},
          {"cuda", resources.cuda},
          {"placement", static_cast<int>(resources.placement)},
          {"not_nodes", resources.not_nodes},
          {"account", resources.account},
          {"reservation", resources.reservation},
          {"slurm", resources.slurm}};
}

Resources resources_from_json(const json& object) {
  return {object.at("class"),
          object.at("gpus"),
          object.at("gpu_type"),
          object.at("cpus"),
          object.at("memory_mib"),
          std::chrono::minutes(object.at("time_min").get<std::int64_t>()),
          // absent in older lines
          object.value("workers", 1u),
          object.value("gpu_memory_mib", std::uint64_t{0}),
          object.value("cuda", 0u),
          static_cast<Placement>(object.value("placement", 0)),
          object.value("not_nodes", ""),
          object.value("account", ""),
          object.value("reservation", ""),
          object.value("slurm", std::map<std::string, std::string>{})};
}

json job_to_json(const Incarnation& job) {
  return {{"id", job.job.value}, {"submit_time_s", job.submit_time_s}, {"restart", job.restart}};
}

json to_json(const JournalRecord& record) {
  json object = {{"kind", kKinds[static_cast<int>(record.kind)]}, {"lease", record.lease.hex()}};
  if (record.kind == JournalRecord::Kind::kIntent) {
    object["resources"] = resources_to_json(record.resources);
    object["session"] = record.session.hex();
    object["want"] = record.want.value;
  }
  if (record.kind == JournalRecord::Kind::kSubmitted) object["job"] = job_to_json(record.job);
  if (record.kind == JournalRecord::Kind::kEnded) object["reason"] = record.reason;
  return object;
}

std::optional<JournalRecord::Kind> kind_from(const std::string& word) {
  for (std::size_t i = 0; i < std::size(kKinds); ++i)
    if (word == kKinds[i]) return static_cast<JournalRecord::Kind>(i);
  return std::nullopt;
}

// Throws json::exception on a missing or ill-typed field.
std::optional<JournalRecord> from_json(const json& object) {
  const auto kind = kind_from(object.at("kind"));
  const auto lease = LeaseId::from_hex(object.at("lease").get<std::string>());
  if (!kind || !lease) return std::nullopt;
  JournalRecord record;
  record.kind = *kind;
  record.lease = *lease;
  if (*kind == JournalRecord::Kind::kIntent) {
    const auto session = SessionId::from_hex(object.at("session").get<std::string>());
    if (!session) return std::nullopt;
    record.session = *session;
    record.want.value = object.at("want");
    record.resources = resources_from_json(object.at("resources"));
  } else if (*kind == JournalRecord::Kind::kSubmitted) {
    const json& job = object.at("job");
    record.job = {SlurmJobId{job.at("id")}, job.at("submit_time_s"), job.at("restart")};
  } else {
    record.reason = object.at("reason");
  }
  return record;
}

}  // namespace

std::string encode_journal_line(const JournalRecord& record) {
  // Slurm's words may hold bytes that are not UTF-8: replaced, never thrown over.
  const std::string body = to_json(record).dump(-1, ' ', false, json::error_handler_t::replace);
  return std::string(kStart) + checksum(body) + std::string(kMiddle) + body + std::string(kEnd) + "\n";
}

std::optional<JournalRecord> decode_journal_line(std::string_view line) {
  const std::size_t body_at = kStart.size() + kCrcDigits + kMiddle.size();
  if (line.size() < body_at + kEnd.size() || !line.starts_with(kStart) || !line.ends_with(kEnd)) return std::nullopt;
  if (line.substr(kStart.size() + kCrcDigits, kMiddle.size()) != kMiddle) return std::nullopt;
  const std::string_view body = line.substr(body_at, line.size() - body_at - kEnd.size());
  if (line.substr(kStart.size(), kCrcDigits) != checksum(body)) return std::nullopt;
  try {
    return from_json(json::parse(body));
  } catch (const json::exception&) {
    return std::nullopt;  // whole, but written by a pounce of another kind
  }
}

}  // namespace pounce::daemon
