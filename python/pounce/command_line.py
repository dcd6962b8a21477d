"""What the commands of ``pouncectl`` that are Python share: exit codes, ``--help``, errors in words or as JSON."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable

from .errors import BadRequest, PounceError

EXIT_OK, EXIT_FAILED, EXIT_USAGE = 0, 1, 2  # as the other commands of pouncectl have them
EXIT_STOPPED = 130  # 128 and the signal's number, as shells have it


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


def ended_quietly(command: Callable[[], int], when_stopped: str = "") -> int:
    """The exit code of a command that Ctrl-C may stop, and whose reader may have seen enough, as `| head` has."""
    try:
        code = command()
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        if when_stopped:
            print(when_stopped, file=sys.stderr)
        return EXIT_STOPPED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK


def end_of_serving() -> threading.Event:
    """Set by Ctrl-C and SIGTERM from now on. For the main thread."""
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    return over
