// The endpoint file: how a live daemon is found (docs/internals.md). Thread: any.
#pragma once

#include <optional>
#include <string>

#include "pounce/error.h"
#include "pounced/startup/folders.h"
#include "protocol/state_files.h"

namespace pounce::daemon {

// Publishes in our own folder, or in that of a previous instance, whose workers look there. Blocks: munged may seal
// it.
Result<void> publish_endpoint(const Folders& folders, const protocol::EndpointFile& endpoint);
// Removes it, unless another daemon has published there since.
void withdraw_endpoint(const std::string& path, const protocol::EndpointFile& endpoint);

// The endpoint of the daemon that holds the lock and accepts connections on its ipc handshake endpoint; nullopt:
// there is none.
std::optional<protocol::EndpointFile> live_endpoint(const Folders& folders);

}  // namespace pounce::daemon
