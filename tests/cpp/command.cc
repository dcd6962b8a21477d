// A client that is not Python: runs a command on a leased worker and prints what it prints, with the public headers
// alone.
//   command [--cpus N] [--seconds S] INTERPRETER -- PROGRAM [ARGUMENT...]
// Its exit code is the command's; 70 when there is none (the reason on standard error), 64 for a wrong use.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "pounce/client.h"

namespace {

struct Words {
  pounce::Resources resources;
  std::chrono::milliseconds patience = std::chrono::minutes(5);
  std::vector<std::string> interpreter, argv;
};

Words read(int argc, char** argv) {
  Words words;
  int at = 1;
  for (; at < argc && std::string(argv[at]) != "--"; ++at) {
    const std::string word = argv[at];
    if (word == "--cpus" && at + 1 < argc)
      words.resources.cpus = static_cast<std::uint32_t>(std::atoi(argv[++at]));
    else if (word == "--seconds" && at + 1 < argc)
      words.patience = std::chrono::seconds(std::atoi(argv[++at]));
    else
      words.interpreter.push_back(word);
  }
  for (++at; at < argc; ++at) words.argv.push_back(argv[at]);
  return words;
}

int say(const pounce::Error& error) {
  std::fprintf(stderr, "%s: %s %s\n", std::string(pounce::wire_name(error.code)).c_str(), error.text.c_str(),
               std::string(error.advice()).c_str());
  return 70;
}

}  // namespace

int main(int argc, char** argv) {
  const Words words = read(argc, argv);
  if (words.argv.empty() || words.interpreter.empty()) return 64;
  auto client = pounce::Client::start({words.interpreter});
  if (!client) return say(client.error());
  auto command = client->command(words.argv, words.resources);
  if (!command) return say(command.error());
  const auto code = command->wait(words.patience);
  std::fputs(command->output().c_str(), stdout);
  if (code) return *code;
  if (code.error().code == pounce::ErrorCode::kTimeout) {
    command->cancel();
    if (const auto end = command->wait(); !end) return say(end.error());
  }
  return say(code.error());
}
