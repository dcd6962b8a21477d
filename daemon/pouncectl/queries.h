// What pouncectl asks others, without a session: this instance's pounced, pounce-slurm, sibling programs.
// Blocking, each with a deadline, except output_of(). Thread: main.
#pragma once

#include <any>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pounce/error.h"
#include "protocol/messages.h"
#include "protocol/state_files.h"
#include "slurm/questions.h"

namespace pounce::slurm {
class SlurmGateway;
}

namespace pounce::ctl {

// Running another program.
std::string own_folder();  // the folder of this program

// The path of a program in the same folder: pounced, pounce-slurm.
std::string sibling(const std::string& program);

// Its standard output; with_errors: and standard error. Empty if it could not run.
std::string output_of(const std::vector<std::string>& argv, bool with_errors = false);

// Where this machine's pounced keeps its files, also when none runs: asks the program.
// That of this instance's last daemon or, after a reboot, of the newest instance beside it.
Result<std::filesystem::path> state_folder();

// What pounce-slurm says about Slurm, asked without a daemon.

// Several questions to one pounce-slurm. An admin's queries go to `pounce-slurm --admin`, which runs as the caller,
// even as root.
class SlurmConversation {
 public:
  explicit SlurmConversation(bool admin);
  ~SlurmConversation();
  SlurmConversation(const SlurmConversation&) = delete;
  SlurmConversation& operator=(const SlurmConversation&) = delete;

  template <class Query>
  Result<typename Query::Answer> ask(Query question) {
    return answer_to(std::move(question)).map([](std::any&& answer) {
      return std::any_cast<typename Query::Answer>(std::move(answer));
    });
  }

 private:
  Result<std::any> answer_to(slurm::Question question);
  std::unique_ptr<slurm::SlurmGateway> gateway_;
};

template <class Query>
Result<typename Query::Answer> ask_slurm(Query question) {
  return SlurmConversation(slurm::kIsAdmins<Query>).ask(std::move(question));
}

// A short conversation with this instance's pounced: find it, say hello over ipc, ask one thing, read one answer.
// Never starts a daemon. The deadline holds for the whole conversation.

// kDaemonUnavailable when none runs.
Result<protocol::EndpointFile> find_daemon();
Result<protocol::Header> ask(const protocol::EndpointFile& daemon, const protocol::Header& question,
                             std::chrono::milliseconds patience = std::chrono::seconds(10));

// The running daemon's status document: a JSON object.
Result<std::string> ask_status();

}  // namespace pounce::ctl
