#include "launch/local_job.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>
#include <utility>

#include "base/file_io.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "job/job_tag.h"
#include "launch/detached_process.h"

namespace pounce::launch {
namespace {

constexpr char kPrefix[] = "job-";
constexpr std::size_t kMostBytes = 64 << 10;  // of a record

std::string path_of(const std::string& folder, const LocalJob& job) {
  return folder + "/" + kPrefix + std::to_string(job.pid());
}

// "1:0,3": the room, and its devices.
std::string text_of(const LocalPlace& place) {
  return std::to_string(place.room) + ":" +
         joined(place.gpus, ",", [](std::uint32_t gpu) { return std::to_string(gpu); });
}

// A line is "key=value"; no value has a line break, since names and numbers have none.
std::string text_of(const LocalJob& job) {
  const JobView& view = job.view;
  std::string text;
  const auto line = [&text](const char* key, const std::string& value) {
    text += std::string(key) + "=" + value + "\n";
  };
  line("boot", boot_id());
  line("pid", std::to_string(job.pid()));
  line("job", std::to_string(view.job_identity.job.value));
  line("started", std::to_string(job.started));
  line("submitted_s", std::to_string(view.submit_time_s));
  line("end_s", std::to_string(view.end_time_s));
  line("tag", job::format_job_tag({*view.instance, *view.lease}));
  line("name", view.name);
  line("class", view.class_name);
  line("gpus", std::to_string(view.resources.gpus));
  line("gpu_type", view.resources.gpu_type);
  line("cpus", std::to_string(view.resources.cpus));
  line("memory_mib", std::to_string(view.resources.memory_mib));
  line("time_min", std::to_string(view.resources.time.count()));
  line("workers", std::to_string(view.resources.workers));
  line("devices", view.devices);
  line("nodes", std::to_string(view.resources.nodes));
  for (const LocalPlace& place : job.places) line("place", text_of(place));
  line("end", "of record");
  return text;
}

template <class T>
T number(const std::string& text) {
  T value{};
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

LocalPlace place_of(const std::string& text) {
  LocalPlace place{number<std::uint32_t>(text), {}};
  std::istringstream gpus(text.substr(std::min(text.size(), text.find(':') + 1)));
  for (std::string gpu; std::getline(gpus, gpu, ',');) place.gpus.push_back(number<std::uint32_t>(gpu));
  return place;
}

std::multimap<std::string, std::string> lines_of(const std::filesystem::path& path) {
  std::multimap<std::string, std::string> lines;
  std::istringstream file(read_end(path, kMostBytes));
  for (std::string line; std::getline(file, line);)
    if (const auto equals = line.find('='); equals != std::string::npos)
      lines.emplace(line.substr(0, equals), line.substr(equals + 1));
  return lines;
}

// nullopt: the record is incomplete or of another boot, or its process is gone.
std::optional<LocalJob> read_record(const std::filesystem::path& path) {
  const auto lines = lines_of(path);
  const auto value = [&lines](const char* key) {
    const auto found = lines.find(key);
    return found != lines.end() ? found->second : std::string();
  };
  const auto tag = job::parse_job_tag(value("tag"));
  if (!tag || !lines.contains("end") || value("boot") != boot_id()) return std::nullopt;
  LocalJob job;
  job.started = number<std::uint64_t>(value("started"));
  JobView& view = job.view;
  view.job_identity = {{number<std::uint32_t>(value("pid"))}, number<std::int64_t>(value("submitted_s")), 0};
  if (start_ticks(job.pid()) != job.started) return std::nullopt;
  if (const auto named = number<std::uint32_t>(value("job")); named != 0 && named != view.job_identity.job.value)
    job.process = std::exchange(view.job_identity.job.value, named);
  view.instance = tag->instance;
  view.lease = tag->lease;
  view.name = value("name");
  view.class_name = value("class");
  view.resources = {view.class_name,
                    number<std::uint32_t>(value("gpus")),
                    value("gpu_type"),
                    number<std::uint32_t>(value("cpus")),
                    number<std::uint64_t>(value("memory_mib")),
                    std::chrono::minutes(number<std::int64_t>(value("time_min"))),
                    std::max(1u, number<std::uint32_t>(value("workers"))),
                    std::max(1u, number<std::uint32_t>(value("nodes")))};
  view.devices = value("devices");
  view.submit_time_s = view.start_time_s = view.job_identity.submit_time_s;
  view.end_time_s = number<std::int64_t>(value("end_s"));
  const auto [first, last] = lines.equal_range("place");
  for (auto place = first; place != last; ++place) job.places.push_back(place_of(place->second));
  return job;
}

}  // namespace

Result<void> write_record(const std::string& folder, const LocalJob& job) {
  const std::string path = path_of(folder, job), text = text_of(job);
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) return {};
  return failure(ErrorCode::kInternal, "cannot write " + path + ": " + std::strerror(errno));
}

void remove_record(const std::string& folder, const LocalJob& job) { ::unlink(path_of(folder, job).c_str()); }

std::vector<LocalJob> read_records(const std::string& folder) {
  std::vector<LocalJob> jobs;
  std::error_code none;  // a missing folder holds no records
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    if (!entry.path().filename().string().starts_with(kPrefix)) continue;
    if (auto job = read_record(entry.path()))
      jobs.push_back(std::move(*job));
    else
      std::filesystem::remove(entry.path(), none);
  }
  return jobs;
}

}  // namespace pounce::launch
