"""``pouncectl panel``: the panel in a browser, until Ctrl-C; as text, once."""

from __future__ import annotations

import json

from .._engine.resource_words import did_you_mean
from ..command_line import EXIT_FAILED, EXIT_OK, answered, end_of_serving
from ..errors import BadRequest
from . import actions, rows
from .server import PanelServer

_PAGE = """\
pouncectl panel          a page with your leases of this machine, live, with buttons; until Ctrl-C
pouncectl panel --text   the same once, as text; --json as JSON

The page is on the loopback interface. Its link is good once, for the browser that opens it first.

Exit codes: 0 fine, 1 the command failed, 2 wrong usage.

Example, where the browser is on another machine:
  ssh -L 8123:127.0.0.1:PORT login1      then open the link with 8123 for PORT"""
_OPTIONS = ("--text", "--json")


def main(words: list[str]) -> int:
    return answered("panel", _PAGE, _run, words)


def _run(words: list[str]) -> int:
    for word in words:
        if word not in _OPTIONS:
            raise BadRequest(f"pouncectl panel has no {word}{did_you_mean(word, _OPTIONS)}",
                             "It takes --text or --json.")
    return _once("--json" in words) if words else _page()


def _once(as_json: bool) -> int:
    facts = actions.look()
    print(json.dumps(facts, indent=2) if as_json else
          facts.get("trouble") or rows.as_text(facts["leases"], facts["cells"]))
    return EXIT_FAILED if facts.get("trouble") else EXIT_OK


def _page() -> int:
    over = end_of_serving()
    server = PanelServer(actions.answer)
    print(f"{server.url}\nopen this link once, until Ctrl-C; from another machine first: "
          f"ssh -L {server.port}:127.0.0.1:{server.port} this machine", flush=True)
    over.wait()
    server.close()
    return EXIT_OK

