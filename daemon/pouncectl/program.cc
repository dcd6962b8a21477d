#include "pouncectl/program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/unique_fd.h"

namespace pounce::ctl {
namespace {

std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = ::read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

}  // namespace

std::string sibling(const std::string& program) {
  std::error_code ignored;  // without /proc the name alone is looked up by exec, and fails there with a clear error
  return (std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / program).string();
}

std::string output_of(const std::vector<std::string>& argv, bool with_errors) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  UniqueFd reader(ends[0]), writer(ends[1]);
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(writer.get(), STDOUT_FILENO);
    if (with_errors) ::dup2(writer.get(), STDERR_FILENO);
    ::execvp(words[0], words.data());
    ::_exit(127);
  }
  writer.reset();
  std::string text = child < 0 ? std::string() : read_all(reader.get());
  if (child > 0) ::waitpid(child, nullptr, 0);
  return text;
}

}  // namespace pounce::ctl
