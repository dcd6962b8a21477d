"""``pouncectl job from-mlproject`` and ``to-mlproject``: a project of MLflow as a job script, and the other way."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from .._engine.resource_words import did_you_mean
from ..command_line import EXIT_OK, answered
from ..errors import BadRequest
from .project_file import ProjectFile, of_job_file

_PAGE = """\
pouncectl job from-mlproject DIR [-e ENTRY] [-P NAME=VALUE]... [-o FILE]   an MLproject as a job script for sbatch
pouncectl job to-mlproject FILE [-o DIR]                                  a job script as an MLproject

  -e ENTRY        the entry point; otherwise main
  -P NAME=VALUE   a parameter; may be repeated
  -o PATH         the file, or the folder, to write; otherwise standard output, or the folder of FILE
  --json          one document on standard output; nothing is written

DIR may have a slurm_config.json: its keys are the #SBATCH lines, and these are its keys. What the other form cannot
say is named on standard error, a line each.

Examples:
  pouncectl job from-mlproject . -P epochs=5 -o train.sbatch
  pouncectl job to-mlproject train.sbatch -o project"""
_OPTIONS = ("-e", "-P", "-o")


def main(words: list[str]) -> int:
    return answered("job", _PAGE, _run, words)


def _run(words: list[str]) -> int:
    verbs = {"from-mlproject": _from_mlproject, "to-mlproject": _to_mlproject}
    verb = words[0] if words else ""
    if verb not in verbs:
        raise BadRequest(f"there is no pouncectl job {verb}{did_you_mean(verb, verbs)}" if verb else "say which way",
                         f"Write pouncectl job {' or '.join(verbs)}.")
    return verbs[verb](words[1:])


def _from_mlproject(words: list[str]) -> int:
    place, said, parameters = _parsed(words, "the project's folder")
    if not place.is_dir():
        raise BadRequest(f"there is no folder {place}", "Name a folder with an MLproject.")
    from .job_file import of_project  # with MLflow

    made = of_project(place, said.get("-e", "main"), parameters)
    if "--json" in said:
        print(json.dumps({"script": made.text, "lost": made.lost}))
        return EXIT_OK
    if "-o" in said:
        _write(Path(said["-o"]), made.text)
    else:
        print(made.text, end="")
    _name(made.lost)
    return EXIT_OK


def _to_mlproject(words: list[str]) -> int:
    place, said, parameters = _parsed(words, "the job script")
    if parameters or "-e" in said:
        raise BadRequest("a job script has its parameters in it", "Leave -P and -e out.")
    try:
        text = place.read_text()
    except (OSError, UnicodeDecodeError) as problem:
        raise BadRequest(f"{place} cannot be read: {problem}", "Name a script for sbatch.") from None
    folder = Path(os.path.abspath(said.get("-o", place.parent)))
    made = of_job_file(place, text, folder)
    if "--json" in said:
        print(json.dumps({"MLproject": made.mlproject(), "slurm_config.json": made.keys, "lost": made.lost}))
        return EXIT_OK
    _write_project(made, folder)
    _name(made.lost)
    return EXIT_OK


def _write_project(made: ProjectFile, folder: Path) -> None:
    files = {folder / "MLproject": made.mlproject(), folder / "slurm_config.json": made.config()}
    for path in files:
        if path.exists():
            raise _is_there(path)
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        _write(path, text)


def _write(path: Path, text: str) -> None:
    try:
        with path.open("x") as file:
            file.write(text)
    except FileExistsError:
        raise _is_there(path) from None
    except OSError as problem:
        raise BadRequest(f"{path} cannot be written: {problem.strerror}", "Name another with -o.") from None
    print(f"written: {path}")


def _is_there(path: Path) -> BadRequest:
    return BadRequest(f"{path} is there, and stays as it is", "Move it away, or name another with -o.")


def _name(lost: list[str]) -> None:
    for line in lost:
        print(f"pouncectl job: lost: {line}", file=sys.stderr)


def _parsed(words: list[str], what: str) -> tuple[Path, dict[str, str], dict[str, str]]:
    said: dict[str, str] = {}
    parameters: dict[str, str] = {}
    places, rest = [], list(words)
    while rest:
        word = rest.pop(0)
        if word == "--json":
            said[word] = ""
        elif word[:2] in _OPTIONS:
            value = word[2:] or (rest.pop(0) if rest else "")
            if not value:
                raise BadRequest(f"{word} needs a value", "pouncectl job --help shows an example.")
            name, equals, text = value.partition("=")
            if word[:2] == "-P" and not (equals and name):
                raise BadRequest(f"-P takes NAME=VALUE, not {value!r}", "For example: -P rate=0.1.")
            if word[:2] == "-P":
                parameters[name] = text
            else:
                said[word[:2]] = value
        elif word.startswith("-"):
            raise BadRequest(f"there is no option {word}", f"The options are {', '.join(_OPTIONS)}, --json.")
        else:
            places.append(word)
    if len(places) != 1:
        raise BadRequest(f"name {what}" if not places else f"name {what} alone, not {' '.join(places)}",
                         "pouncectl job --help shows an example.")
    return Path(os.path.abspath(os.path.expanduser(places[0]))), said, parameters


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
