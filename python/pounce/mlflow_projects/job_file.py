"""A project of MLflow as a job script for sbatch: its resources as #SBATCH lines, its parameters as shell variables."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter
from typing import Any

from .. import _core
from .._batch.job_lines import job_lines, quoted
from .._batch.placement import COMMAND, placed
from ..errors import BadRequest
from .command import quote_after
from .config import ProjectConfig, parsed
from .entry import entry_of, entry_points, loaded_from

CONFIG = "slurm_config.json"
_VARIABLE = re.compile(r"\$(?:\w+|\{\w+\})")
_IN_SHELL = re.compile(r"[a-z][A-Za-z0-9_]*")  # names in capitals mean something to a shell, or to Slurm


@dataclass
class JobFile:
    text: str = ""
    lost: list[str] = field(default_factory=list)  # what it cannot say, each with the file that says it


def of_project(folder: Path, entry_point: str, parameters: Mapping[str, str]) -> JobFile:
    """The job script of one entry point, with these parameters. Blocks for a question to Slurm about classes.

    Raises
    ------
    BadRequest
        There is no such project or entry point, a parameter has no value, or the configuration makes no sense.
    """
    project = loaded_from(folder, entry_point)
    entry = entry_of(project, entry_point)
    keys = _keys(folder / CONFIG)
    config = parsed(keys)
    place = placed(config.options)
    values = _values(entry, parameters)
    known = {name: value for name, value in values.items() if _IN_SHELL.fullmatch(name)}
    lines = [f"#SBATCH --job-name={quoted(project.name or folder.name)}", f"#SBATCH --chdir={quoted(str(folder))}",
             *job_lines(config.options, place), *config.lines]
    if config.output:
        lines.append(f"#SBATCH --output={quoted(config.output)}")
    parts = [
        "#!/bin/bash\n"
        f"# The entry point {entry_point} of the MLflow project {project.name or folder.name}\n"
        f"# Written by pounce {_core.__version__}. Submit it with sbatch as it is; it needs no pounce.\n"
        + "\n".join(_last_of_each(lines)),
        _part("Parameters", (_assignment(name, value, entry) for name, value in known.items())),
        _part("Modules", ["module load " + shlex.join(config.modules)] if config.modules else []),
        _part("The environment", [f"export PATH={_in_shell(config.env + '/bin:$PATH')}"] if config.env else []),
        _part("Variables", (f"export {name}={_in_shell(value)}" for name, value in config.environment.items())),
        _part("The command", _command(entry, values, known, config.nodes)),
    ]
    lost = list(_lost(project, entry_point, entry, values, known, config, place.container))
    return JobFile("\n\n".join(filter(None, parts)) + "\n", lost)


# ---- what the project says ----


def _keys(file: Path) -> dict[str, Any]:
    try:
        keys = json.loads(file.read_text())
    except FileNotFoundError:
        return {}
    except ValueError as problem:
        raise BadRequest(f"{file} is no JSON: {problem}", "Correct it, or move it away.") from None
    if not isinstance(keys, dict):
        raise BadRequest(f"{file} has no keys", 'Write {"time": "8:00:00"}.')
    return keys


def _values(entry: Any, parameters: Mapping[str, str]) -> dict[str, str]:
    values = {name: parameters.get(name, each.default) for name, each in entry.parameters.items()}
    if missing := [name for name, value in values.items() if value is None]:
        raise BadRequest(f"the parameter {missing[0]} has no value", f"Give it one: -P {missing[0]}=VALUE.")
    values.update({name: value for name, value in parameters.items() if name not in values})
    for name, value in values.items():
        if "\0" in str(value):
            raise BadRequest(f"the parameter {name} has a zero byte", "Leave it out.")
    return {name: str(value) for name, value in values.items()}


# ---- in the shell's words ----


def _part(title: str, lines: Iterator[str] | list[str]) -> str:
    text = "\n".join(lines)
    return f"# {title}\n{text}" if text else ""


def _last_of_each(lines: list[str]) -> list[str]:
    """sbatch takes the last line of an option."""
    by_option: dict[str, str] = {}
    for line in lines:
        by_option.pop(option := line.partition("=")[0], None)
        by_option[option] = line
    return list(by_option.values())


def _assignment(name: str, value: str, entry: Any) -> str:
    declared = entry.parameters.get(name)
    kind = declared.type if declared is not None else "string"
    return f"{name}={_in_one_line(value)}" + (f"  # {kind}" if kind != "string" else "")


def _in_one_line(text: str) -> str:
    if "\n" not in text and "\r" not in text:
        return shlex.quote(text)
    for sign, written in (("\\", r"\\"), ("'", r"\'"), ("\n", r"\n"), ("\r", r"\r")):
        text = text.replace(sign, written)
    return f"$'{text}'"


def _in_shell(text: str) -> str:
    """The text with its variables, of which nothing else is executed."""
    if shlex.quote(text) == text:
        return text
    whole, end = "", 0
    for match in _VARIABLE.finditer(text):
        whole += _escaped(text[end:match.start()]) + match[0]
        end = match.end()
    return f'"{whole}{_escaped(text[end:])}"'


def _escaped(text: str) -> str:
    return re.sub(r'([\\"$`])', r"\\\1", text)


def _command(entry: Any, values: Mapping[str, str], known: Mapping[str, str], nodes: int) -> list[str]:
    text, quote = "", ""
    for literal, name, _, _ in Formatter().parse(entry.command):
        text, quote = text + literal, quote_after(literal, quote)
        if name:
            word = f'"${name}"' if name in known else shlex.quote(values.get(name, ""))
            text += {"": word, '"': f'"{word}"', "'": f"'{word}'"}[quote]
    for name in values:
        if name not in entry.parameters:  # as MLflow appends them
            text += f' --{name} ' + (f'"${name}"' if name in known else shlex.quote(values[name]))
    if nodes == 1:
        return [text]
    return [*([f"export {' '.join(known)}"] if known else []), f"srun bash -c {shlex.quote(text)}"]


def _lost(project: Any, entry_point: str, entry: Any, values: Mapping[str, str], known: Mapping[str, str],
          config: ProjectConfig, container: tuple[str, ...]) -> Iterator[str]:
    yield "MLproject: the job tells MLflow nothing; its program begins its own run"
    others = [name for name in entry_points(project) if name != entry_point]
    if others:
        yield f"MLproject: the entry points {', '.join(others)}: a job script has one; -e names another"
    if project.env_type == "docker_env":
        yield f"MLproject: docker_env: the script starts no container of the image {project.docker_env.get('image')}"
    elif project.env_config_path and not config.env:
        yield (f"{Path(project.env_config_path).name}: a job script makes no environment; activate one in the shell "
               f'that runs sbatch, or name one in {CONFIG}: "env"')
    for name, value in values.items():
        if name not in known:
            yield f"MLproject: the parameter {name} stands in the command itself: it is no name for a shell's variable"
        declared = entry.parameters.get(name)
        if declared is not None and declared.type == "path" and ("://" in value or value.startswith("runs:")):
            yield f"MLproject: the parameter {name}: MLflow would copy {value} to a file; the script has the address"
    if config.container or container != (COMMAND,):
        yield f"{CONFIG if config.container else 'the policy of the site'}: the container: write it before the command"
    for name in config.exports:
        yield f"{CONFIG}: exports: {name}: sbatch passes it on from its shell, and Slurm keeps its value"
    if config.script_link:
        yield f"{CONFIG}: sbatch-script-file: the script is where -o puts it"
