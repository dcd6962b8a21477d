// Runs a command on a leased worker and shows what it prints; the exit code is the command's.
//   on_a_gpu PYTHON PROGRAM [ARGUMENT...]     PYTHON: an interpreter with pounce in it, where the workers are
#include <cstdio>
#include <string>
#include <vector>

#include "pounce/client.h"

namespace {

int tell(const pounce::Error& error) {
  std::fprintf(stderr, "%s %s\n", error.text.c_str(), std::string(error.advice()).c_str());
  return 70;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s PYTHON PROGRAM [ARGUMENT...]\n", argv[0]);
    return 64;
  }
  auto client = pounce::Client::start({{argv[1]}});
  if (!client) return tell(client.error());

  pounce::Resources resources;
  resources.gpus = 1;
  auto command = client->command({argv + 2, argv + argc}, resources);
  if (!command) return tell(command.error());

  const auto code = command->wait();
  std::fputs(command->output().c_str(), stdout);
  return code ? *code : tell(code.error());
}
