"""The keys of a project's backend configuration (``slurm_config.json``), as options of a batch run. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .._batch.job_lines import quoted
from .._batch.placement import COMMAND
from .._engine.options import Options
from .._engine.resource_words import did_you_mean
from ..compat.directives import options_of_names
from ..errors import BadRequest, PounceError

IMAGE = "{image}"  # in a container's command: the image that the project's docker_env names


@dataclass(frozen=True)
class ProjectConfig:
    options: Options = field(default_factory=Options)
    lines: tuple[str, ...] = ()  # of sbatch, which no option of pounce stands for
    partition: str = ""
    nodes: int = 1
    output: str = ""
    script_link: str = ""  # where the user wants to see the job's script
    modules: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    exports: tuple[str, ...] = ()
    env: str = ""  # the prefix of an environment that exists
    container: tuple[str, ...] = ()
    build_on: str = "node"  # where an environment is made


def parsed(keys: Mapping[str, Any]) -> ProjectConfig:
    """
    Raises
    ------
    BadRequest
        Names the key: it is unknown, its value makes no sense, or another key says the same.
    """
    config, values = ProjectConfig(), {}
    for key, value in keys.items():
        name = key.replace("_", "-")
        if name not in KEYS:
            raise BadRequest(f'there is no key "{key}" in a backend configuration{did_you_mean(name, KEYS)}',
                             f"The keys are {', '.join(KEYS)}.")
        if value is None or value == "" or value == []:
            continue
        values[name] = value
        try:
            config = KEYS[name](config, name, value)
        except PounceError as problem:
            raise BadRequest(f'the key "{key}": {problem.text}', problem.remedy) from None
    if len(of_gpus := [name for name in values if name in _OF_GPUS]) > 1:
        raise BadRequest(f"{' and '.join(of_gpus)} both say how many GPUs", "Leave one of them out.")
    if config.nodes > 1 and "ntasks" not in values:  # otherwise one, for which Slurm takes one node
        config = _ntasks(config, "ntasks", config.nodes)
    return config


Parse = Callable[[ProjectConfig, str, Any], ProjectConfig]


def _sbatch(config: ProjectConfig, name: str, value: Any) -> ProjectConfig:
    """An option of sbatch that pounce has too, under its own name or another."""
    return _with_options(config, options_of_names({name: _text(value)}))


def _own(keyword: str) -> Parse:
    return lambda config, name, value: _with_options(config, {keyword: value})


def _with_options(config: ProjectConfig, words: Mapping[str, Any]) -> ProjectConfig:
    return replace(config, options=config.options.changed(**words))


def _line(config: ProjectConfig, name: str, value: Any) -> ProjectConfig:
    text = ",".join(_texts(value)) if isinstance(value, list) else _text(value)
    return replace(config, lines=(*config.lines, f"#SBATCH --{name}={quoted(text)}"))


def _ntasks(config: ProjectConfig, name: str, value: Any) -> ProjectConfig:
    return _line(config, name, _count(value))


def _nodes(config: ProjectConfig, name: str, value: Any) -> ProjectConfig:
    return replace(_line(config, name, _count(value)), nodes=_count(value))


def _partition(config: ProjectConfig, name: str, value: Any) -> ProjectConfig:
    return replace(_line(config, name, value), partition=_text(value))


def _field(place: str, parse: Callable[[Any], Any]) -> Parse:
    def parsed_into(config: ProjectConfig, name: str, value: Any) -> ProjectConfig:
        changes: dict[str, Any] = {place: parse(value)}
        return replace(config, **changes)

    return parsed_into


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise BadRequest(f"it takes a text, not {value!r}", 'Write it in quotes: "…".')
    return str(value)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (str, list)):
        raise BadRequest(f"it takes a list of texts, not {value!r}", 'Write it in brackets: ["…", "…"].')
    return tuple(_text(one) for one in value) if isinstance(value, list) else tuple(value.replace(",", " ").split())


def _count(value: Any) -> int:
    text = _text(value).strip()
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 10**6):
        raise BadRequest(f"it takes a whole number, at least 1, not {value!r}", 'Write it in digits: "1".')
    return int(text)


def _environment(value: Any) -> dict[str, str]:
    """``{"A": "1"}``, or ``["A=1"]`` as the shell's ``export`` takes it."""
    if isinstance(value, dict):
        return {_name(name): _text(one) for name, one in value.items()}
    words = [word for line in ([value] if isinstance(value, str) else _texts(value)) for word in _words(line)]
    if alone := [word for word in words if "=" not in word]:
        raise BadRequest(f"{alone[0]!r} sets no variable", 'Write NAME=VALUE: ["OMP_NUM_THREADS=4"].')
    return {_name(name): text for name, _, text in (word.partition("=") for word in words)}


def _name(name: str) -> str:
    if not name.isidentifier():
        raise BadRequest(f"{name!r} is no variable's name", "A name has letters, digits and _ alone.")
    return name


def _exports(value: Any) -> tuple[str, ...]:
    return tuple(map(_name, _texts(value)))


def _container(value: Any) -> tuple[str, ...]:
    words = tuple(_words(_text(value)))
    if words.count(COMMAND) != 1:
        raise BadRequest(f"{value!r} has not once the word {COMMAND}, where the project's command belongs",
                         f'Write "apptainer exec --nv image.sif {COMMAND}".')
    return words


def _build_on(value: Any) -> str:
    text = _text(value)
    if text not in BUILD_ON:
        raise BadRequest(f"there is no place {text!r} to make an environment{did_you_mean(text, BUILD_ON)}",
                         'Write "node", for a lease without a GPU, or "login", for the machine that submits.')
    return text


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as problem:
        raise BadRequest(f"{line!r} is no shell's line: {problem}", "Close its quotes.") from None


BUILD_ON = ("node", "login")
_OF_GPUS = ("gres", "gpus-per-node", "gpu")
KEYS: dict[str, Parse] = {
    "account": _sbatch,
    "mem": _sbatch,
    "partition": _partition,
    "time": _sbatch,
    "gres": _sbatch,
    "mail-user": _line,
    "mail-type": _line,
    "ntasks": _ntasks,
    "job-name": _line,
    "output": _field("output", _text),
    "sbatch-script-file": _field("script_link", _text),
    "modules": _field("modules", _texts),
    # of the plugin mlflow-slurm
    "gpus-per-node": _sbatch,
    "nodes": _nodes,
    "environment": _field("environment", _environment),
    "exports": _field("exports", _exports),
    # pounce's own
    "class": _own("class_"),
    "gpu": _own("gpus"),
    "env": _field("env", _text),
    "container": _field("container", _container),
    "build-on": _field("build_on", _build_on),
}
