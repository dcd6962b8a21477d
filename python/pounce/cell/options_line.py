"""What stands behind ``%%pounce`` and ``%pounce``: words to options, before anything is sent."""

from __future__ import annotations

import difflib
import os
import re
import shlex
from dataclasses import dataclass, field
from typing import Any

from ..errors import BadRequest
from ..options import Options
from ..requirements import cuda_text
from ..wait_policy import Step
from .show import size

RESOURCES = {"--gpu": "gpus", "--class": "class_", "--time": "time", "--mem": "memory", "--cpus": "cpus", "--gpu-type": "gpu_type",
             "--gpu-mem": "gpu_memory", "--cuda": "cuda", "--nodes": "nodes", "--not-nodes": "not_nodes", "--account": "account",
             "--reservation": "reservation", "--slurm": "slurm", "--spread": "spread", "--pack": "pack"}
NAMES = ("--in", "--out")
FLAGS = ("--bg", "--try", "--spread", "--pack")
OPTIONS = (*RESOURCES, "--or", "--env", *NAMES, "--name", "--bg", "--try")
_OF_GPU = ("gpus", "gpu_type", "gpu_memory", "cuda")
VERBS = ("status", "explain", "vars", "pull", "push", "restart", "release")
TRY_CLASS = "cheetah"  # short, and let in first: design §4
_OTHER_WORDS = {"--qos": "--class", "--partition": "--class", "--gres": "--gpu", "--memory": "--mem", "--walltime": "--time",
                "--constraint": "--slurm", "--exclude": "--not-nodes", "--gpu-memory": "--gpu-mem",
                "--push": "--in", "--pull": "--out", "--background": "--bg", "--python": "--env"}


@dataclass(frozen=True)
class Place:
    """Which worker: equal ones share it."""

    options: Options = field(default_factory=Options)
    env: str = ""  # the prefix of another environment

    def words(self) -> dict[str, Any]:
        """The keywords of Client.options that give these."""
        options = self.options
        words = {"gpus": options.gpus, "gpu_type": options.gpu_type, "cpus": options.cpus, "memory": options.memory_mib * 2**20,
                 "time": options.time_min * 60, "class_": options.class_name, "gpu_memory": options.gpu_memory_mib * 2**20,
                 "cuda": cuda_text(options.cuda), "spread": options.placement == "spread", "pack": options.placement == "pack",
                 "not_nodes": options.not_nodes, "account": options.account, "reservation": options.reservation,
                 "slurm": dict(options.slurm), "env": self.env}
        return {word: value for word, value in words.items() if value}

    def __str__(self) -> str:
        options = self.options
        words = {"GPU": f"{options.gpus} {options.gpu_type}".strip() if options.gpus else "", "CPUs": options.cpus or "",
                 "memory": size(options.memory_mib * 2**20) if options.memory_mib else "",
                 "minutes": options.time_min or "", "class": options.class_name, "environment": self.env}
        if options.gpus:
            words["per GPU"] = size(options.gpu_memory_mib * 2**20) if options.gpu_memory_mib else ""
            words["CUDA"] = cuda_text(options.cuda)
        return ", ".join(f"{value} {unit}" for unit, value in words.items() if value) or "no GPU"


@dataclass(frozen=True)
class CellLine:
    """The options of one cell. `sends` None: what the cell reads is found in its source."""

    place: Place = field(default_factory=Place)
    sends: tuple[str, ...] | None = None
    brings: tuple[str, ...] = ()
    background: bool = False
    name: str = ""  # of the job object of a cell in the background
    instead: tuple[Step, ...] = ()  # what it does instead of waiting


def parse_cell(line: str) -> CellLine:
    words = _words(line)
    resources: dict[str, Any] = {}
    names: dict[str, tuple[str, ...]] = {}
    env, instead = "", []
    flags = set()
    while words:
        option, value = _option(words)
        if option in RESOURCES:
            resources[RESOURCES[option]] = _value(option, value, resources)
        elif option in FLAGS:
            flags.add(option)
        elif option == "--or":
            instead.append(value)
        elif option == "--env":
            env = os.path.abspath(os.path.expanduser(value))
        else:
            names[option] = _names(option, value)
    if "--try" in flags:
        kept = {word: value for word, value in resources.items() if word not in _OF_GPU}
        resources = {**kept, "gpus": 0, "class_": TRY_CLASS}
    return CellLine(Place(_options(resources), env), names.get("--in"), names.get("--out", ()), "--bg" in flags,
                    _job_name(names.get("--name", ()), flags), _instead(instead))


def parse_verb(line: str) -> tuple[str, CellLine, tuple[str, ...]]:
    """``%pounce pull a b --gpu 1``: the verb, which worker is meant, and the names."""
    words = _words(line)
    if not words:
        raise BadRequest(f"%pounce takes one of {', '.join(VERBS)}; a cell that runs on a worker begins with %%pounce")
    verb, *rest = words
    if verb not in VERBS:
        raise BadRequest(f"there is no %pounce {verb}{_nearest(verb, VERBS)}")
    names: list[str] = []
    while rest and not rest[0].startswith("-"):
        names.extend(_names(verb, rest.pop(0)))
    return verb, parse_cell(shlex.join(rest)), tuple(names)


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise BadRequest(f"the line {line!r} cannot be read: {error}", "Close the quotes.") from error


def _option(words: list[str]) -> tuple[str, str]:
    """Takes one option and its value from the words: ``--gpu 1`` or ``--gpu=1``."""
    option, equals, value = words.pop(0).partition("=")
    if not option.startswith("-"):
        raise BadRequest(f"{option!r} is no option; the code begins in the line below", f"The options are {', '.join(OPTIONS)}.")
    if option not in OPTIONS:
        raise BadRequest(f"there is no option {option}{_nearest(option, OPTIONS)}", f"The options are {', '.join(OPTIONS)}.")
    if option in FLAGS:
        if equals:
            raise BadRequest(f"{option} takes no value")
        return option, ""
    if not equals:
        if not words or words[0].startswith("--"):
            raise BadRequest(f"{option} needs a value, for example {option} {_EXAMPLES[option]}")
        value = words.pop(0)
    return option, value


def _value(option: str, value: str, resources: dict[str, Any]) -> Any:
    if option in FLAGS:
        return True
    if option == "--slurm":
        name, equals, text = value.partition("=")
        return {**resources.get("slurm", {}), name: text if equals else True}
    return int(value) if option in ("--cpus", "--nodes") and value.isdigit() else value


_EXAMPLES = {"--gpu-type": "a100,v100", "--gpu-mem": "20GB", "--cuda": "12", "--nodes": "1", "--not-nodes": "g1", "--account": "ml",
             "--reservation": "course", "--slurm": "constraint=nvlink",
             "--gpu": "1", "--class": "cheetah", "--time": "20min", "--mem": "8GB", "--cpus": "4", "--in": "a,b", "--out": "x,y",
             "--or": "cpu@5min", "--env": "~/envs/torch", "--name": "job"}


def _nearest(word: str, valid: tuple[str, ...]) -> str:
    by_letters = {one.lstrip("-"): one for one in valid}
    near = difflib.get_close_matches(word.lstrip("-"), by_letters, 1, 0.5)
    meant = _OTHER_WORDS.get(word) or (by_letters[near[0]] if near else "")
    return f"; did you mean {meant}?" if meant else ""


def _names(option: str, value: str) -> tuple[str, ...]:
    names = tuple(name for name in value.replace(" ", "").split(",") if name)
    for name in names:
        if not name.isidentifier():
            raise BadRequest(f"{option} takes names of variables, such as a,b; {name!r} is none")
    return names


def _instead(words: list[str]) -> tuple[Step, ...]:
    return Options().changed(wait_policy=words).wait_policy if words else ()


def _job_name(names: tuple[str, ...], flags: set[str]) -> str:
    if not names:
        return ""
    if len(names) > 1:
        raise BadRequest(f"--name takes one name, not {','.join(names)}")
    if "--bg" not in flags:
        raise BadRequest("--name is for a cell that runs in the background", "Add --bg.")
    return names[0]


def _options(resources: dict[str, Any]) -> Options:
    try:
        return Options().changed(**resources)
    except BadRequest as error:  # which speaks of client.options(gpus=...)
        text, remedy = error.text, error.remedy
        for option, word in RESOURCES.items():
            text = re.sub(rf"\b{word}=(?!True\b)(?=\w)", f"{option} ", text)
            text = re.sub(rf"\b{word}=(?:True\b)?", option, text)
        raise BadRequest(text, remedy) from None
