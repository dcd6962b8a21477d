#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <cstdlib>

#include "base/check.h"
#include "base/text.h"

namespace pounce {
namespace {

void log_failed_check(const char* condition, const char* message, const char* file, int line) {
  spdlog::critical("check failed: {} ({}) at {}:{}", message, condition, file, line);
  spdlog::shutdown();
}

constexpr std::size_t kMostBytes = 8 * 1024 * 1024;  // then it is renamed to "<name>.1.log", replacing an older one

// Messages contain names and errors from untrusted peers: print each message on one line.
class OneLine : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    const std::string text = printable({message.payload.data(), message.payload.size()});
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<OneLine>(); }
};

std::unique_ptr<spdlog::formatter> formatter() {
  auto lines = std::make_unique<spdlog::pattern_formatter>();
  lines->add_flag<OneLine>('*').set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %n %*");
  return lines;
}

}  // namespace

void start_log(const std::string& program, const std::string& path) {
  auto logger =
      path.empty() ? spdlog::stderr_logger_mt(program) : spdlog::rotating_logger_mt(program, path, kMostBytes, 1);
  logger->set_formatter(formatter());
  logger->flush_on(spdlog::level::info);
  const char* level = std::getenv("POUNCE_LOG");
  logger->set_level(spdlog::level::from_str(level != nullptr ? level : "info"));
  spdlog::set_default_logger(std::move(logger));
  check_handler = log_failed_check;
}

}  // namespace pounce
