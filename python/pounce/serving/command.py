"""``pouncectl serve``: lists and stops the endpoints of this user on this machine, and serves a model until Ctrl-C."""

from __future__ import annotations

import json
import signal
import sys
from typing import Any

from .._engine import resource_words
from .._engine.options import CellOption
from .._engine.resource_words import did_you_mean
from ..command_line import EXIT_OK, answered
from ..errors import BadRequest
from . import control
from .endpoint import serve

_OF_SERVE = (
    CellOption("--name", "NAME", "digits", "its name in the list; by default the model's"),
    CellOption("--workers", "N:M", "0:4", "from how many to how many workers; 0:1 by default"),
    CellOption("--idle", "T", "10min", "a worker that answered nothing for so long goes back"),
    CellOption("--env", "PREFIX", "~/envs/torch", "another environment's Python on the workers"),
)
OPTIONS = {option.word: option for option in (*resource_words.WORDS.values(), *_OF_SERVE)}
_VERBS = ("list", "stop", "token")
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(words: list[str]) -> int:
    return answered("serve", page(), _run, words)


def page() -> str:
    lines = [f"  {option.word + ' ' + option.value:<22}{option.help}" for option in OPTIONS.values() if option.help]
    return "\n".join([
        "pouncectl serve [list] [--json]        the endpoints of all your notebooks and programs on this machine",
        "pouncectl serve stop NAME... [--json]  end them; their leases go back",
        "pouncectl serve token NAME [--header]  the token that each request has to send; as a header for curl -H @-",
        "pouncectl serve MODEL [OPTIONS]        serve a model of MLflow's, here, until Ctrl-C", "", *lines, "",
        "Exit codes: 0 fine, 1 the command failed, 2 wrong usage.", "",
        "Examples:", "  pouncectl serve models:/digits/3 --gpu 1 --workers 0:4",
        "  pouncectl serve token digits --header | curl -H @- http://127.0.0.1:41234/ping"])


def _run(words: list[str]) -> int:
    verb, *rest = words or ["list"]
    if verb == "--json":
        verb, rest = "list", words
    if verb == "list":
        return _list(rest)
    if verb == "stop":
        return _stop(rest)
    if verb == "token":
        return _token(rest)
    if not verb.startswith("-") and not set(":/.~") & set(verb):
        raise BadRequest(f"there is no pouncectl serve {verb}{did_you_mean(verb, _VERBS)}",
                         f"It takes {', '.join(_VERBS)}, or the address of a model, such as models:/digits/3.")
    return _serve(words)


def _list(words: list[str]) -> int:
    _flags(words, "--json", 0)
    found = control.endpoints()
    print(json.dumps({"endpoints": found.rows}, indent=2) if "--json" in words else found)
    return EXIT_OK


def _stop(words: list[str]) -> int:
    names = _flags(words, "--json", 1)
    for name in names:
        control.stop(name)
        if "--json" not in words:
            print(f"{name} ends, and its leases go back")
    if "--json" in words:
        print(json.dumps({"stopped": names}))
    return EXIT_OK


def _token(words: list[str]) -> int:
    names = _flags(words, "--header", 1)
    if len(names) > 1:
        raise BadRequest(f"token takes one name, not {', '.join(names)}")
    token = control.named(names[0]).token
    print(f"Authorization: Bearer {token}" if "--header" in words else token)
    return EXIT_OK


def _flags(words: list[str], flag: str, least: int) -> list[str]:
    """The words without the flag, the only one that there is."""
    names = [word for word in words if word != flag]
    for word in names:
        if word.startswith("-") or not least:
            raise BadRequest(f"{word!r} is too much", f"It takes {flag}{' and names' if least else ' alone'}.")
    if len(names) < least:
        raise BadRequest("no name is given", "pouncectl serve list has the names.")
    return names


def _serve(words: list[str]) -> int:
    model, said = parsed(words)
    resources = {keyword: resource_words.value_of(word, said[word])
                 for word, keyword in resource_words.RESOURCES.items() if word in said}
    resource_words.checked(resources)  # its errors name options
    rest = {word.lstrip("-"): said[word] for word in ("--name", "--workers", "--idle", "--env") if word in said}
    endpoint = serve(model, **rest, **resources)
    for number in _ENDS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP
            signal.signal(number, _interrupt)
    with endpoint:
        print(f"{endpoint.name} is served at {endpoint.url} until Ctrl-C; its token: pouncectl serve token "
              f"{endpoint.name}", flush=True)
        try:
            endpoint.wait()
        except KeyboardInterrupt:
            print(file=sys.stderr)
    return EXIT_OK


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def parsed(words: list[str]) -> tuple[str, dict[str, Any]]:
    """The model's address, and the options before and behind it."""
    said: dict[str, Any] = {}
    models: list[str] = []
    rest = list(words)
    while rest:
        word, equals, value = rest.pop(0).partition("=")
        if not word.startswith("-"):
            models.append(word + equals + value)
            continue
        if word not in OPTIONS:
            raise BadRequest(f"there is no option {word}{did_you_mean(word, OPTIONS)}",
                             f"The options are {', '.join(OPTIONS)}.")
        resource_words.note(said, OPTIONS[word], value if equals else None, rest)
    if len(models) != 1:
        raise BadRequest(f"serve takes one model, not {', '.join(models) or 'none'}",
                         "For example: pouncectl serve models:/digits/3 --gpu 1")
    return models[0], said
