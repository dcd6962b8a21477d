"""``pouncectl rerun runs:/ID [-P NAME=VALUE]... [--compare] [--json]``."""

from __future__ import annotations

import ast
import json
import sys
from typing import Any

from ..command_line import EXIT_FAILED, EXIT_OK, answered
from ..errors import BadRequest
from . import Rerun, begin

_PAGE = """\
pouncectl rerun runs:/ID [OPTIONS]   a run of MLflow once more: the same code, with the parameters that you change

  -P NAME=VALUE   a parameter: a value of Python, or else a text; may be repeated
  --compare       wait for its end, and say which metrics differ by how much
  --json          one document on standard output

It repeats runs of projects, of batch runs and of submitted functions, of the store that MLFLOW_TRACKING_URI names.
A function runs in this process's session: it waits for that. Exit codes: 0; 1 the rerun failed or could not be made;
2 wrong usage.

Examples:
  pouncectl rerun runs:/6b0c2f4e9d7a4c55b2f3d6a1e8c97b10 -P rate=0.1 --compare"""


def main(words: list[str]) -> int:
    return answered("rerun", _PAGE, _run, words)


def _run(words: list[str]) -> int:
    run, parameters, flags = _parsed(words)
    made = begin(run, parameters, _value)
    if "--json" not in flags:
        print(f"{made.run_id or 'a run that has not begun yet'} repeats {made.of}: {made.title}", flush=True)
    if "--compare" in flags:
        made.compare()
    elif made.kind == "call":
        made.wait()
    _show(made, "--json" in flags)
    is_over = "--compare" in flags or made.kind == "call"
    return EXIT_FAILED if is_over and made.status != "FINISHED" else EXIT_OK


def _show(made: Rerun, as_json: bool) -> None:
    if as_json:
        print(json.dumps(made.as_dict()))
    elif made.metrics is not None:
        print(f"{made.run_id} is {made.status}")
        print(made.metrics)


def _parsed(words: list[str]) -> tuple[str, dict[str, str], set[str]]:
    runs: list[str] = []
    parameters: dict[str, str] = {}
    flags: set[str] = set()
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word.startswith("-P"):
            name, equals, value = (word[2:] or (rest.pop(0) if rest else "")).partition("=")
            if not equals or not name:
                raise BadRequest(f"-P takes NAME=VALUE, not {name!r}", "For example: -P rate=0.1.")
            parameters[name] = value
        elif word in ("--compare", "--json"):
            flags.add(word)
        elif word.startswith("-"):
            raise BadRequest(f"there is no option {word}", "The options are -P, --compare, --json.")
        else:
            runs.append(word)
    if len(runs) != 1:
        raise BadRequest("name one run" if runs else "no run is named", "For example: pouncectl rerun runs:/6b0c….")
    return runs[0], parameters, flags


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
