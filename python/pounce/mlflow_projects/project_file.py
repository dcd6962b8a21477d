"""A job script as a project of MLflow: an MLproject, and the backend's configuration. Pure."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..compat.directives import split
from ..errors import BadRequest

# Options of sbatch that are keys of the configuration, under their own name or another.
_KEYS = {name: name for name in ("account", "mem", "partition", "time", "gres", "mail-user", "mail-type", "ntasks",
                                 "job-name", "output", "nodes", "gpus-per-node")} | {"gpus": "gpu", "qos": "class"}
_SAYS_NOTHING = {"nodes": "1", "ntasks": "1"}  # as a project's job is anyway
_OF_A_PROJECT = re.compile(r"# The entry point \S+ of the MLflow project (.+)")  # in that of a converted one
_OURS = "pounce finds the run as"  # in the head of a batch run's script
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*?)(?:\s+#\s*(float|int|path|uri|string))?\s*")
_EXPORT = re.compile(r"export ([A-Za-z_]\w*)=(.*)")
_REFERENCE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_ACTS = re.compile(r"[$`;&|<>()*?~\\]")
_IN_ONE_LINE = re.compile(r"\$'((?:[^'\\]|\\[\\'nr])*)'")  # a text with line breaks
_PATH = re.compile(r"(.+)/bin:\$(?:PATH|\{PATH\})")


@dataclass
class ProjectFile:
    name: str
    command: str = ""
    parameters: dict[str, tuple[str, str]] = field(default_factory=dict)  # type and default
    keys: dict[str, Any] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)  # what neither file can say, each with the number of its line

    def mlproject(self) -> str:
        """In YAML, of which JSON's texts are a part."""
        text = json.dumps
        lines = [f"name: {text(self.name)}", "entry_points:", "  main:"]
        if self.parameters:
            lines.append("    parameters:")
            lines += [f"      {name}: {{type: {kind}, default: {text(value)}}}"
                      for name, (kind, value) in self.parameters.items()]
        return "\n".join([*lines, f"    command: {text(self.command)}", ""])

    def config(self) -> str:
        return json.dumps(self.keys, indent=2) + "\n"


def of_job_file(file: Path, text: str, folder: Path) -> ProjectFile:
    """`folder`: where the project will be.

    Raises
    ------
    BadRequest
        It is no script for a shell.
    """
    lines = text.splitlines()
    if not _is_for_a_shell(lines[0] if lines else ""):
        raise BadRequest(f"{file} is no script for bash: its first line is {lines[0] if lines else ''!r}",
                         "Name a script for sbatch that begins with #!/bin/bash.")
    named = (match[1] for line in lines[:5] if (match := _OF_A_PROJECT.fullmatch(line)))
    name = next(named, "")
    made = ProjectFile(name or file.stem)
    for number, line in enumerate(lines, 1):
        if line.startswith("#SBATCH"):
            _take_option(made, number, line, folder)
    made.name = name or str(made.keys.get("job-name", made.name))
    if any(_OURS in line for line in lines[:5]):  # it has its own folder with all that it needs
        made.command = f"bash {shlex.quote(str(file))}"
    else:
        _take_body(made, lines)
    if not made.command:
        raise BadRequest(f"{file} has no command", "Write one below its #SBATCH lines.")
    return made


def _is_for_a_shell(first: str) -> bool:
    names = [Path(word).name for word in first.removeprefix("#!").split()] if first.startswith("#!") else []
    return bool({"bash", "sh"} & set(names[:2] if names[:1] == ["env"] else names[:1]))


def _take_option(made: ProjectFile, number: int, line: str, folder: Path) -> None:
    try:
        name, value = split(line.partition(" #")[0])
    except BadRequest:
        made.lost.append(f"line {number}: {line.strip()}")
        return
    if name in _KEYS:
        made.keys.pop(_KEYS[name], None)
        if _SAYS_NOTHING.get(name) != value:
            made.keys[_KEYS[name]] = value
        if name == "qos":
            made.lost.append(f"line {number}: --qos={value} is \"class\" now, which the site's policy may place in "
                             "another QoS")
    elif name != "chdir":
        made.lost.append(f"line {number}: --{name}{'=' if value else ''}{value}: no key of a configuration says it")
    elif Path(value) != folder:
        made.lost.append(f"line {number}: --chdir={value}: a project runs in its own folder")


def _take_body(made: ProjectFile, lines: list[str]) -> None:
    command: list[str] = []
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not command and (not text or text.startswith("#") or _is_taken(made, text)):
            continue
        if '"$@"' in line:
            made.lost.append(f'line {number}: "$@": a project has its parameters by their names')
        command.append(line)
    text = "\n".join(command).strip()
    if "nodes" in made.keys:
        text = _without_srun(text)
    made.command = _with_places(text, made.parameters)


def _is_taken(made: ProjectFile, line: str) -> bool:
    """Whether the line, before the command, is said by a key or a parameter."""
    if line.startswith("module load ") and not _ACTS.search(line):
        made.keys["modules"] = [*made.keys.get("modules", []), *shlex.split(line, comments=True)[2:]]
        return True
    if match := _EXPORT.fullmatch(line):
        value = _plain(match[2])
        if value is None:
            return False
        if match[1] == "PATH" and (prefix := _PATH.fullmatch(value)):
            made.keys["env"] = prefix[1]
        else:
            made.keys.setdefault("environment", {})[match[1]] = value
        return True
    if (match := _ASSIGNMENT.fullmatch(line)) and (value := _constant(match[2])) is not None:
        made.parameters[match[1]] = (match[3] or "string", value)
        return True
    return bool(made.parameters) and line == f"export {' '.join(made.parameters)}"


def _constant(word: str) -> str | None:
    """The text of a shell's word; None: it is not one, or something is replaced in it."""
    if match := _IN_ONE_LINE.fullmatch(word):
        return re.sub(r"\\(.)", lambda sign: {"n": "\n", "r": "\r"}.get(sign[1], sign[1]), match[1])
    try:
        words = shlex.split(word)
    except ValueError:  # its quotes end on another line
        return None
    acts = _ACTS.search(re.sub(r"'[^']*'", "", word))
    return None if acts or len(words) > 1 else "".join(words)


def _plain(word: str) -> str | None:
    """The text of a shell's word, with its variables as they are written; None: more than that is replaced in it."""
    if (constant := _constant(word)) is not None:
        return constant
    inner = word[1:-1] if len(word) > 1 and word[0] == word[-1] == '"' else word
    bare = re.sub(r'\\[\\"$`]', "", _REFERENCE.sub("", inner))
    if re.search(r'["`$\\]' if inner is not word else r"[\s\"'`$\\;&|<>()*?~]", bare):
        return None
    return re.sub(r'\\([\\"$`])', r"\1", inner)


def _without_srun(command: str) -> str:
    """On several nodes the job itself starts the command by srun."""
    words = shlex.split(command) if command.startswith("srun bash -c ") else []
    return words[3] if len(words) == 4 else command


def _with_places(text: str, parameters: dict[str, tuple[str, str]]) -> str:
    """The command with {name} where a parameter's variable stands."""
    made, quote, at = "", "", 0
    while at < len(text):
        sign, match = text[at], _REFERENCE.match(text, at)
        if match and quote != "'" and (match[1] or match[2]) in parameters:
            place = f"{{{match[1] or match[2]}}}"
            made += f'"{place}"' if quote else place
            at = match.end()
            continue
        if sign == "\\" and quote != "'":
            made += _literal(text[at:at + 2])
            at += 2
            continue
        quote = "" if sign == quote else sign if sign in "'\"" and not quote else quote
        made += _literal(sign)
        at += 1
    return re.sub(r'""(\{\w+\})""', r"\1", made)


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
