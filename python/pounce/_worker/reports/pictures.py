"""Pictures among the files that a task reports: the notebook shows them below the cell, each at one place."""

from __future__ import annotations

import base64
import json
import os
import stat

_KINDS = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif"}
_MOST_BYTES = 4 << 20


def shown(path: str, again: bool) -> bytes | None:
    """The message that shows it; `again`: in place of what was shown of it. None: it is no picture, or too large."""
    kind = _KINDS.get(os.path.splitext(path)[1].lower())
    data = _read(path) if kind else b""
    if not data:
        return None
    name = os.path.basename(path)
    content = {"data": {kind: base64.b64encode(data).decode(), "text/plain": f"<{name}>"}, "metadata": {},
               "transient": {"display_id": f"pounce-report {path}"}}
    return json.dumps({"type": "update_display_data" if again else "display_data", "content": content,
                       "metadata": {}}).encode()


def _read(path: str) -> bytes:
    """Empty: it is no file, cannot be read, or is too large."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        facts = os.fstat(file)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MOST_BYTES:
            return b""
        return os.read(file, _MOST_BYTES)
    except OSError:
        return b""
    finally:
        os.close(file)
