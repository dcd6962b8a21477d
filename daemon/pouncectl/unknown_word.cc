#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/text.h"
#include "pouncectl/commands.h"

namespace pounce::ctl {
namespace {

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* below : app.get_subcommands(nullptr))
    if (!below->get_name().empty()) names.push_back(below->get_name());  // a nameless one is a group of options
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  for (const CLI::App* below : app.get_subcommands(nullptr)) {
    if (!below->get_name().empty()) continue;
    const auto more = options_of(*below);
    names.insert(names.end(), more.begin(), more.end());
  }
  return names;
}

std::string sentence(const std::string& fault, const std::string& meant, const std::string& remedy) {
  return fault + (meant.empty() ? "" : "; did you mean '" + meant + "'?") + "\n" + remedy + "\n";
}

std::string unknown_option(const CLI::App& app, const CLI::App& command, const std::string& path) {
  for (const std::string& word : app.remaining(true)) {
    if (!word.starts_with("--") || word == "--") continue;
    const std::string option = word.substr(0, word.find('='));
    return sentence("`" + path + "` has no option '" + option + "'", meant_word(option, options_of(command)),
                    "`" + path + " --help` lists them.");
  }
  return {};
}

}  // namespace

std::string unknown_word(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  std::string path = "pouncectl", below;
  for (const std::string& word : words) {
    const auto names = commands_of(*command);
    if (names.empty()) break;  // the rest are the command's own arguments
    if (word.starts_with('-')) continue;
    if (std::ranges::count(names, word) == 0)
      return sentence("there is no command '" + below + word + "'", meant_word(word, names),
                      "`" + path + " --help` lists them.");
    command = command->get_subcommand(word);
    path += " " + word;
    below += word + " ";
  }
  return unknown_option(app, *command, path);
}

}  // namespace pounce::ctl
