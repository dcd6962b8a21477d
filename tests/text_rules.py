"""Rules for text that a script can check: words that are no longer ours, and files that are named but not there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

# Words of an earlier vocabulary, and what they are called now (docs/glossary.md).
OLD_WORDS = {
    "baton": "leader token",
    "courier": "relay",
    "crew": "worker group",
    "dead man": "watchdog",
    "desk": "handler",
    "door": "handshake endpoint",
    "guest": "peer",
    "hall": "control channel",
    "holdings": "allocations",
    "incarnation": "job identity",
    "knock": "handshake",
    "lease board": "lease cache",
    "named task": "detached task",
    "predecessor": "previous instance",
    "reception": "authenticator",
    "story": "history",
    "survey": "snapshot",
    "sweep interval": "reconcile interval",  # a sweep is now what Client.sweep makes: a function with many parameters
    "want book": "request state",
    "want failed": "request failed",
}

# What a file may say all the same: words of others.
ALLOWED = {
    "docs/changelog.md": set(OLD_WORDS),  # says what things were called in their time
    "LICENSE": set(OLD_WORDS),
    "daemon/pounce-slurm/LICENSE": set(OLD_WORDS),
    "tests/python/compat_names_test.py": {"story"},  # a method of Dask's
    "python/pounce/_worker/extension_lock.py": {"baton"},  # a class of torch's
    "docs/gotchas.md": {"baton"},
    "tests/text_rules.py": set(OLD_WORDS),
    "tests/rules_test.py": set(OLD_WORDS),
}

# Longest first, so that a plural or a pair of words is found whole.
_OLD = re.compile(r"\b(" + "|".join(sorted(OLD_WORDS, key=len, reverse=True)) + r")(s|es|ed|ing)?\b")


def old_words(line: str) -> list[str]:
    """Those of OLD_WORDS in a line, also as parts of names: `DeadMan`, `kDoor`, `leader_baton`, `dead-man`."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", line)
    return [found[1] for found in _OLD.finditer(re.sub(r"[_-]+", " ", apart).lower())]


# Words that hide the role or the value that they stand for (docs/contributing.md), and how many the product and the documents
# may have: in messages, on the wire, and in public names.
PRIVATE_WORDS = {
    r"\basked\b": 150,
    r"\b[kK]?[dD]eed\b": 0,
    r"\b[wW]hom?ever\b": 0,
    r"\b[sSnN](omebody|obody)\b": 60,
}


# A path from the root of the repository, and a bare name of a file of ours.
_PATH = re.compile(r"(?<![\w/.}>$<*-])(?:daemon|docs|examples|include|packaging|python|src|tests)/[\w./*-]*[\w*]")
_NAME = re.compile(r"(?<![\w/.}>$<*{-])[\w-]+\.(?:cc|h|py|md|sh)\b(?![./\w(])")
_COMMENT = {".cc": "//", ".h": "//", ".py": "#"}

# Of other projects, of a user in an example, or made by a build.
NOT_OURS = {"slurm.h", "cuda_runtime_api.h", "environment.sh", "read_config.h", "train.sh", "pounce.py", "tests/gateway_driver"}


def named_files(file: str, text: str) -> Iterator[tuple[int, str]]:
    """(line number, name) of each file of the repository that a text names: a path anywhere, a bare name in prose or a comment."""
    comment = _COMMENT.get(Path(file).suffix, "")
    for number, line in enumerate(text.splitlines(), 1):
        for path in _PATH.findall(line):
            yield number, path
        start = line.find(comment)
        for name in _NAME.findall(line[start:] if start >= 0 else ""):
            yield number, name


def is_there(name: str, files: set[str]) -> bool:
    """`files`: paths from the root. A folder, a pattern, or the beginning of a name counts when something fits it."""
    if name in NOT_OURS or name in files:
        return True
    if "/" not in name:
        return any(file.rsplit("/", 1)[-1] == name for file in files)
    pattern = re.compile(re.escape(name).replace(r"\*", ".*"))
    return any(pattern.match(file) for file in files)
