"""What the panel's look and buttons do outside a notebook: ``pouncectl`` answers, as it does in a terminal."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Mapping
from typing import Any

from .._engine.daemon import find_program
from . import rows

_ANSWER_S = 15.0
_LEASE = re.compile(r"[0-9a-f]{1,16}")


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """To a request of the page. Blocks while pounced answers."""
    trouble = ""
    if request.get("do") == "release":
        trouble = release(str(request.get("lease", "")))
    return {**look(), **({"trouble": trouble} if trouble else {})}


def look() -> dict[str, Any]:
    done = _pouncectl("status", "--json")
    try:
        document = json.loads(done.stdout)
    except ValueError:
        return {"trouble": done.stderr.strip() or "pouncectl status says nothing"}
    if "error" in document:
        return {"leases": [], "cells": [], "trouble": document["error"]["text"]}
    return {"leases": rows.leases_of(document, time.time()), "cells": []}


def release(lease: str) -> str:
    """Gives it back as soon as it is idle. Returns why it could not; empty: it could."""
    if not _LEASE.fullmatch(lease):
        return f"{lease!r} is no lease"
    done = _pouncectl("release", lease)
    return "" if done.returncode == 0 else done.stderr.strip()


def _pouncectl(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([find_program("pouncectl"), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=_ANSWER_S, check=False)
