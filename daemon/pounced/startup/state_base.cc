#include "pounced/startup/state_base.h"

#include <unistd.h>

#include "base/own_name.h"
#include "base/trusted_path.h"
#include "base/write_probe.h"

namespace pounce::daemon {

std::string why_not_usable(const std::string& folder) {
  const std::filesystem::path there = nearest_existing(folder);
  if (const auto trusted = open_trusted_folder(there); !trusted) return trusted.error().text;
  const WriteProbe probe = probe_writing(there);
  return probe.trouble.empty() ? "" : there.string() + " cannot be written: " + probe.trouble;
}

std::string fallback_state_folder() { return own_name_in("/var/tmp", "pounce-" + std::to_string(::geteuid())); }

StateBase choose_state_base(const std::string& usual, const std::string& fallback,
                            const std::function<bool(const std::string& base)>& lives) {
  if (lives(usual)) return {usual, {}};
  const std::string trouble = why_not_usable(usual);
  if (lives(fallback)) return {fallback, trouble.empty() ? usual + " could not be written a while ago" : trouble};
  if (trouble.empty() || !why_not_usable(fallback).empty()) return {usual, {}};
  return {fallback, trouble};
}

}  // namespace pounce::daemon
