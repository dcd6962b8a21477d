"""What the commands of ``pouncectl`` that are Python share: exit codes, ``--help``, errors in words or as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

from .errors import BadRequest, PounceError

EXIT_OK, EXIT_FAILED, EXIT_USAGE = 0, 1, 2  # as the other commands of pouncectl have them


def answered(name: str, page: str, run: Callable[[list[str]], int], words: list[str]) -> int:
    """Runs a command's ``run(words)`` and returns the exit code; a help page and errors are printed here."""
    if words[:1] in (["--help"], ["-h"]):
        print(page)
        return EXIT_OK
    try:
        return run(words)
    except PounceError as error:
        if "--json" in words:
            print(json.dumps({"error": {"code": error.code, "text": error.text, "remedy": error.remedy,
                                        "context": error.context}}))
        else:
            print(f"pouncectl {name}: {error}", file=sys.stderr)
        return EXIT_USAGE if isinstance(error, BadRequest) else EXIT_FAILED
