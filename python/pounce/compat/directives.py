"""Translates options of sbatch, as written for Dask and submitit, into options of pounce. Unknown ones are refused."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from .._engine.options import KEYWORDS
from ..errors import BadRequest

_SHORT = {
    "A": "account", "c": "cpus-per-task", "C": "constraint", "D": "chdir", "e": "error", "G": "gpus", "J": "job-name",
    "L": "licenses", "n": "ntasks", "N": "nodes", "o": "output", "p": "partition", "q": "qos", "t": "time",
    "w": "nodelist", "x": "exclude",
}
_GRES = re.compile(r"gpu(?::(?P<type>[^:,]+))??(?::(?P<count>\d+))?")
_US = __name__.rpartition(".")[0]
_LONG = re.compile(r"--([a-z-]+)(?:[=\s]\s*(.*))?")
_LETTER = re.compile(r"-([A-Za-z])[=\s]?\s*(.*)")

# Meaningless here: pounce names its jobs, shows their output in the notebook and restarts lost ones where it may.
_IGNORED = frozenset(("job-name", "output", "error", "open-mode", "comment", "parsable", "quiet", "verbose", "requeue",
                      "no-requeue", "get-user-env", "signal", "wait-all-nodes"))

# src/client/client.cc has the list.
VARIABLES = ("PATH, LD_LIBRARY_PATH, PYTHONPATH, OMP_*, MKL_*, CUDA_HOME, HF_HOME, TORCH_HOME and those of conda and "
             "of loaded modules travel from the notebook by themselves, as they are when its client is made. "
             "Set others inside the function.")

# These change what the program sees. A warning says that they are dropped, since it may run well without them.
_WITHOUT = {
    "chdir": "functions run in the folder that the notebook was in when its client was made. "
             "Call os.chdir(...) inside the function",
    "export": f"of the environment, {VARIABLES.rstrip('.')}",
}

# Options of pounce whose names mean something else in sbatch, or nothing.
_OURS_ALONE = frozenset(("workers", "cpus", "memory", "cuda", "slurm", "name", "spread", "pack"))

# Passed to Slurm unchanged, if the site's policy allows them (docs/policy.md).
_PASSED_ON = frozenset(("constraint", "exclusive", "licenses", "mail-type", "mail-user", "nodelist", "prefer",
                        "switches", "tmp", "wckey"))

_INSTEAD = {
    "array": "Use map: each item is a call of its own.",
    "begin": "Submit it when it may begin.",
    "dependency": "Pass the future as an argument: its call starts when that one has ended.",
    "mem-per-cpu": "Ask for all of it: --mem=8G.",
    "mem-per-gpu": "Ask for all of it: --mem=8G.",
    "ntasks-per-node": "Ask for processes: processes=8 of SLURMCluster, or pounce.Client(workers=8).",
    "ntasks": "Ask for processes: processes=8 of SLURMCluster, or pounce.Client(workers=8).",
    "nodes": "Leave it out: several leases lie where there is room. "
             "pounce.gang(nodes=2) runs one program on several nodes.",
}


def options_of_lines(lines: Iterable[str]) -> dict[str, Any]:
    """The options in ``["--gres=gpu:1", "--qos lion", "-A ml"]``, with or without a leading ``#SBATCH``."""
    options: dict[str, Any] = {}
    for line in lines:
        name, value = split(line)
        _add(options, _option(name, value, line))
    return options


def options_of_names(names: dict[str, Any]) -> dict[str, Any]:
    """The options in ``{"gres": "gpu:1", "mail_type": "END"}``."""
    options: dict[str, Any] = {}
    for name, value in names.items():
        if value is not None and value is not False:
            word = name.replace("_", "-")
            _add(options, _option(word, "" if value is True else str(value), f"--{word}={value}"))
    return options


def no_partition(option: str) -> dict[str, Any]:
    """Warns that pounce has no option for a partition. It is no error, since the program may run well without it."""
    warn(f"{option} is not passed on: here the class decides the partition. Name one with --qos=NAME; "
         "pounce.classes() lists those that are open to you")
    return {}


def warn(text: str) -> None:
    """Warns at the user's own line."""
    warnings.warn(text, UserWarning, stacklevel=_of_the_caller())


def _of_the_caller() -> int:
    """How far up the stack the user's own line is, for a warning's stacklevel."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_US):
        level, frame = level + 1, frame.f_back
    return level - 1


def _add(options: dict[str, Any], more: dict[str, Any]) -> None:
    more_slurm = more.pop("slurm", {})
    options.update(more)
    if more_slurm:
        options["slurm"] = {**options.get("slurm", {}), **more_slurm}


def split(line: str) -> tuple[str, str]:
    """(long name, value) of a line ``#SBATCH --gres=gpu:1`` or a part of one.

    Raises
    ------
    BadRequest
        It is no option of sbatch.
    """
    text = line.strip().removeprefix("#SBATCH").strip()
    if match := _LONG.fullmatch(text):
        return match[1], _bare(match[2] or "")
    if (match := _LETTER.fullmatch(text)) and match[1] in _SHORT:
        return _SHORT[match[1]], _bare(match[2])
    raise BadRequest(f"the directive {line!r} is no option of sbatch that pounce knows",
                     "Write its long name: '--gres=gpu:1'.")


def _bare(value: str) -> str:
    return value.strip().strip("\"'")


def _option(name: str, value: str, text: str) -> dict[str, Any]:
    """`text`: the option as the user wrote it, for messages."""
    if name in _IGNORED:
        return {}
    if name in _WITHOUT:
        warn(f"{text} is not passed on: {_WITHOUT[name]}")
        return {}
    if name in _PASSED_ON:
        return {"slurm": {name: value or True}}
    if name in _OPTIONS:
        return _OPTIONS[name](value, text)
    if name in _both():
        return {name: int(value) if value.isdigit() else value}
    if name in _INSTEAD:
        raise BadRequest(f"the directive {text} has no equivalent in pounce", _INSTEAD[name])
    known = ", ".join(f"--{one}" for one in sorted({*_OPTIONS, *_PASSED_ON, *_both()}))
    raise BadRequest(f"the directive {text} has no equivalent in pounce", f"Leave it out; pounce knows {known}.")


def _both() -> set[str]:
    """Options with the same name in pounce and sbatch."""
    return {name for name in KEYWORDS if name.isalpha()} - _OURS_ALONE


def _gres(value: str, text: str) -> dict[str, Any]:
    """``gpu``, ``gpu:2``, ``gpu:a100``, ``gpu:a100:2``, ``gpu:3g.20gb:1``."""
    match = _GRES.fullmatch(value.removeprefix("gres:").replace("gres/", ""))
    if match is None:
        raise BadRequest(f"the directive {text} asks for something else than GPUs",
                         "Write '--gres=gpu:1' or '--gres=gpu:TYPE:1'.")
    return {"gpus": f"{match['type']}:{match['count'] or 1}" if match["type"] else int(match["count"] or 1)}


def _gpus(value: str, text: str) -> dict[str, Any]:
    return _gres(f"gpu:{value}", text)


def _one(name: str) -> Callable[[str, str], dict[str, Any]]:
    def parse(value: str, text: str) -> dict[str, Any]:
        if value.strip() != "1":
            raise BadRequest(f"the directive {text} has no equivalent in pounce", _INSTEAD[name])
        return {}

    return parse


def _mem(value: str, text: str) -> dict[str, Any]:
    """In Slurm a plain number means MiB."""
    return {"memory": f"{value}MB" if value.isdigit() else value}


def _text(option: str) -> Callable[[str, str], dict[str, Any]]:
    return lambda value, text: {option: value}


def _number(option: str) -> Callable[[str, str], dict[str, Any]]:
    def parse(value: str, text: str) -> dict[str, Any]:
        if not value.isdigit():
            raise BadRequest(f"the directive {text} takes a number, not {value!r}", "Write it in digits.")
        return {option: int(value)}

    return parse


_OPTIONS: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "gres": _gres,
    "gpus": _gpus,
    "gpus-per-node": _gpus,
    "gpus-per-task": _gpus,
    "qos": _text("class_"),
    "partition": lambda value, text: no_partition(text),
    "time": _text("time"),
    "mem": _mem,
    "cpus-per-task": _number("cpus"),
    "exclude": _text("not_nodes"),
    "nodes": _one("nodes"),
    "ntasks": _one("ntasks"),
    "ntasks-per-node": _one("ntasks-per-node"),
}
