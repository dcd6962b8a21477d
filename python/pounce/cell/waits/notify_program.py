"""The site's program that tells people: by mail, in a chat (``notify`` in the policy). It runs as the user."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from typing import Any

_MOST_S = 30.0
_MOST_SAID = 300
# Of the kernel's environment, which may hold secrets, it gets these alone.
_PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "SLURM_CONF")


def run(program: str, facts: Mapping[str, Any], most_s: float = _MOST_S) -> str:
    """Blocks until it has ended, for half a minute at most. Returns why it failed; empty: it did not."""
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    with tempfile.TemporaryFile() as errors:  # a pipe would stay open as long as its children live
        try:
            process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors,
                                       env=environment, cwd="/", start_new_session=True)
        except OSError as error:
            return f"{program}: {error.strerror}"
        try:
            process.communicate(json.dumps(facts).encode() + b"\n", most_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return f"{program} was ended, since it took more than {most_s:g} s"
        if process.returncode == 0:
            return ""
        errors.seek(0)
        said = errors.read(_MOST_SAID).decode("utf-8", "replace").strip()
        return f"{program} ended with {process.returncode}{f': {said}' if said else ''}"
