"""Who may include whom: the table of docs/internals.md, as data, and what a line of a file breaks of it.

A module is a folder; it may always include itself. FOREIGN names each foreign library's headers and the only places that see
them: one library per module, so that replacing a library touches one folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

# folder: what it may include beside itself, the standard library and the system's headers
MODULES = {
    "include/pounce": [],
    "src/base": ["pounce", "model"],
    "src/job": ["pounce", "model", "base/process.h", "base/text.h"],
    "src/core/forecast": ["pounce", "model", "base"],
    "src/core/lease": ["pounce", "model", "base", "job/slurm_reason.h"],
    "src/messages": ["pounce", "job/slurm_reason.h", "model", "protocol"],
    "src/core/task": ["pounce", "model", "base"],
    "src/core/exec": ["pounce", "model", "base"],
    "src/model": ["pounce"],
    "src/protocol": ["pounce", "base", "model"],
    "src/saved_state": ["pounce", "base", "model"],
    "src/memory": ["pounce", "base"],
    "src/transport": ["pounce", "base", "memory"],
    "src/tls": ["pounce", "model", "base", "transport/frame.h", "transport/channel.h"],
    "src/bulk": ["pounce", "base", "protocol", "transport/frame.h", "tls"],
    "src/data": ["pounce", "base", "protocol", "transport/frame.h", "transport/channel.h"],
    "src/identity": ["pounce", "base"],
    "src/control": ["pounce", "base", "protocol", "transport"],
    "src/slurm": ["pounce", "base", "model", "protocol/stream_framing.h"],
    "src/policy": ["pounce", "model", "base/durations.h", "base/text.h"],
    "src/policy_simulator": ["pounce", "model", "base", "core/lease"],
    "src/launch": ["pounce", "model", "base", "job", "slurm"],
    "src/client": ["pounce", "base", "bulk", "data", "memory", "messages", "model", "control", "core/task", "protocol", "transport", "identity"],
    "src/device": ["pounce", "model", "base"],
    "src/worker/common": ["pounce", "model", "base", "protocol"],
    "src/worker/supervisor": ["pounce", "base", "job/inside_job.h", "memory/cgroup.h", "messages", "model", "worker/common", "control", "device", "protocol", "transport", "identity"],
    "src/worker/interpreter": ["pounce", "base", "bulk", "data", "device", "memory", "model", "worker/common", "core/exec", "protocol", "transport", "identity"],
    "daemon/pounced": ["pounce", "base", "job", "messages", "model", "core/forecast", "core/lease", "protocol", "transport", "identity", "slurm", "launch", "saved_state", "policy"],
    "daemon/pounce-slurm": ["pounce", "model", "base", "job", "protocol", "slurm/wire.h", "slurm/questions.h", "slurm/slurm_values.h", "slurm/partition.h", "core/forecast", "messages/waiting_words.h"],
    "daemon/pounce-report": ["pounce", "base"],
    "daemon/pounce-worker": ["pounce", "model", "base", "protocol", "transport", "identity", "worker/supervisor"],
    "daemon/pouncectl": ["pounce", "base", "job/request_bounds.h", "messages", "model", "control", "protocol", "transport", "identity", "saved_state", "slurm", "policy", "policy_simulator", "core/forecast", "core/lease"],
    "python/bindings": ["pounce", "base", "memory/kept_view.h", "memory/memory_block.h", "memory/private_memory.h", "messages", "model", "client", "worker/interpreter", "worker/common/bounded_log.h", "device", "identity/content_digest.h", "saved_state/manifest.h", "tls/stream.h"],
}

# Types of time, but no clock is read (tests/purity_test.py), no file, no log.
CORE_SEES_OF_BASE = ["base/check.h", "base/clock.h", "base/curve_key.h"]

PRIVATE = ["transport/zmq_parts.h"]  # for its own folder only: it shows a foreign library

# header: where it may stand
FOREIGN = {
    r"zmq.*": ["src/transport/"],
    r"openssl/.*": ["src/tls/stream.cc"],
    r"sodium\.h": ["src/identity/"],
    r"munge\.h": ["src/identity/"],
    r"slurm/.*": ["daemon/pounce-slurm/"],
    r"spdlog/.*": ["src/base/"],
    r"fmt/.*": ["src/base/"],
    r"tl/expected\.hpp": ["include/pounce/error.h"],
    r"xxhash\.h": ["src/identity/"],
    r"CLI/.*": ["daemon/"],
    r"pybind11/.*": ["python/bindings/"],
    r"nlohmann/.*": ["src/model/json.h", "src/protocol/codec.cc", "src/slurm/wire.cc", "src/policy/", "daemon/pounced/", "daemon/pouncectl/"],
}
# A foreign header in a header of ours spreads to all who include it; only these may.
FOREIGN_IN_HEADERS = ["include/pounce/error.h", "src/model/json.h", "src/base/log.h", "src/transport/zmq_parts.h", "python/bindings/",
                      "daemon/pounce-slurm/", "daemon/pouncectl/output.h", "daemon/pouncectl/doctor/doctor.h", "daemon/pouncectl/python.h"]

SYSTEM = re.compile(r"(sys|net|netinet|arpa|linux|gnu)/[a-z_-]+\.h|[a-z0-9_]+(\.h)?|cxxabi\.h")
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"(?P<own>[^"]+)"|<(?P<foreign>[^>]+)>)')


@dataclass(frozen=True)
class Include:
    file: str  # relative to the repository's root
    line: int
    header: str
    own: bool


def module_of(file: str) -> str | None:
    return next((m for m in sorted(MODULES, key=len, reverse=True) if file.startswith(m + "/")), None)


def includes(root: Path) -> list[Include]:
    found = []
    for folder in ("include", "src", "daemon", "python"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            for number, text in enumerate(path.read_text().splitlines(), 1):
                if match := INCLUDE.match(text):
                    own = match["own"]
                    found.append(Include(str(path.relative_to(root)), number, own or match["foreign"], bool(own)))
    return found


def trouble(include: Include) -> str | None:
    """What the table says against this line; None: nothing."""
    module = module_of(include.file)
    if module is None:
        return "lies in no module of the table"
    complaint = _own(include, module) if include.own else _foreign(include)
    return complaint and f"{include.file}:{include.line}: {include.header}: {complaint}"


def _own(include: Include, module: str) -> str | None:
    if "/" not in include.header:
        return None  # a neighbour in the same folder
    if module.startswith("src/core/") and include.header.startswith("base/"):
        return None if include.header in CORE_SEES_OF_BASE else "the core sees only the pure part of base"
    if include.header in PRIVATE and not include.file.startswith("src/" + include.header.split("/")[0]):
        return "it is private to its folder"
    own_name = module.removeprefix("src/").removeprefix("daemon/").removeprefix("include/")
    allowed = [own_name, *MODULES[module]]
    if any(include.header == name or include.header.startswith(name + "/") for name in allowed):
        return None
    return f"{module} may include {', '.join(allowed)}"


def _foreign(include: Include) -> str | None:
    for pattern, places in FOREIGN.items():
        if re.fullmatch(pattern, include.header):
            if not include.file.startswith(tuple(places)):
                return f"only {', '.join(places)} may include it"
            if include.file.endswith(".h") and not include.file.startswith(tuple(FOREIGN_IN_HEADERS)):
                return "a foreign header belongs into a .cc file"
            return None
    return None if SYSTEM.fullmatch(include.header) else "no line of FOREIGN knows this library"
