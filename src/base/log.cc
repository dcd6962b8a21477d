#include "base/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <cstdlib>

#include "base/check.h"

namespace pounce {
namespace {

void log_failed_check(const char* condition, const char* message, const char* file, int line) {
  spdlog::critical("check failed: {} ({}) at {}:{}", message, condition, file, line);
  spdlog::shutdown();
}

}  // namespace

void start_log(const std::string& program, const std::string& path) {
  auto logger = path.empty() ? spdlog::stderr_logger_mt(program) : spdlog::basic_logger_mt(program, path);
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %n %v");
  logger->flush_on(spdlog::level::info);
  const char* level = std::getenv("POUNCE_LOG");
  logger->set_level(spdlog::level::from_str(level != nullptr ? level : "info"));
  spdlog::set_default_logger(std::move(logger));
  check_handler = log_failed_check;
}

}  // namespace pounce
