"""The rules as data: thresholds, exceptions and what is switched off, from the shipped file and a site's own."""

from __future__ import annotations

import configparser
import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..._engine.resource_words import did_you_mean
from ...errors import BadRequest
from ..jobs import Job

SHIPPED = Path(__file__).with_name("rules.ini")
OF_THE_SITE = Path("/etc/pounce/antipatterns.ini")
KINDS = ("sleep-job", "terminal-holder", "idle-notebook", "idle-reservation", "never-used-gpu", "half-idle-gang",
         "gpu-too-large", "unused-cores-or-memory", "overlong-limit", "many-tiny-jobs", "walltime-hopping")
_EXCEPT = {"except-users": "user", "except-accounts": "account", "except-partitions": "partition",
           "except-names": "name"}
_SHARES = ("confidence",)  # 0 to 1
_SWITCHES = ("enabled",)
_LISTS = (*_EXCEPT, "programs", "names")
_GPUS = "gpus"
_ALL = "all"


@dataclass(frozen=True)
class Rule:
    """What one kind is judged by. `numbers` are its own thresholds by their names in the file."""

    kind: str
    enabled: bool
    numbers: Mapping[str, float]
    lists: Mapping[str, tuple[str, ...]]

    def __getitem__(self, name: str) -> float:
        return self.numbers[name]

    def excepts(self, job: Job) -> bool:
        return any(matches(getattr(job, attribute), self.lists[name]) for name, attribute in _EXCEPT.items())


@dataclass(frozen=True)
class Rules:
    kinds: Mapping[str, Rule]
    gpus: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # type: memory in GB, teraflops

    def __getitem__(self, kind: str) -> Rule:
        return self.kinds[kind]


def matches(text: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(text, pattern) for pattern in patterns)


def load(named: str = "", of_the_site: Path = OF_THE_SITE) -> Rules:
    """The shipped rules, with what the site's file (or the `named` one in its place) says otherwise. Raises BadRequest
    for a file that cannot be read, or that has a word which no rule knows."""
    texts = [(SHIPPED, _text(SHIPPED))]
    if named:
        texts.append((Path(named), _text(Path(named))))
    elif of_the_site.exists():
        texts.append((of_the_site, _text(of_the_site)))
    return read(texts)


def read(texts: Sequence[tuple[Path, str]]) -> Rules:
    """Of files' texts, the shipped one first: a later one overrides a value of an earlier one."""
    sections: dict[str, dict[str, str]] = {}
    for place, text in texts:
        known = {name: frozenset(values) for name, values in sections.items()}
        for section, values in _sections(place, text).items():
            if known:
                _check(place, section, values, known)
            sections.setdefault(section, {}).update(values)
    everywhere = sections[_ALL]
    try:
        kinds = {kind: _rule(kind, {**everywhere, **sections[kind]}) for kind in KINDS}
        gpus = {name: _figures(name, text) for name, text in sections[_GPUS].items()}
    except ValueError as error:
        raise BadRequest(f"{texts[-1][0]}: {error}", "docs/insight.md says what each rule takes.") from None
    return Rules(kinds, gpus)


def _text(place: Path) -> str:
    try:
        return place.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"the rules {place} cannot be read: {error}",
                         "Name a file that has lines such as: [sleep-job], and below it: run-hours = 2.") from None


def _sections(place: Path, text: str) -> dict[str, dict[str, str]]:
    parser = configparser.ConfigParser(interpolation=None, default_section="", inline_comment_prefixes=("#",))
    try:
        parser.read_string(text, str(place))
    except configparser.Error as error:
        words = " ".join(str(error).split())
        raise BadRequest(f"{place} is no file of rules: {words}",
                         "A section begins with [sleep-job], a line in it is: run-hours = 2.") from None
    return {name: dict(parser[name]) for name in parser.sections()}


def _check(place: Path, section: str, values: Mapping[str, str], known: Mapping[str, frozenset[str]]) -> None:
    """A word that is misspelled would leave a rule as it is without a word."""
    if section not in known:
        raise BadRequest(f"{place} has [{section}], which is no kind{did_you_mean(section, sorted(known))}",
                         f"It may have any of {', '.join(known)}.")
    if section == _GPUS:
        return
    words = known[section] | known[_ALL]
    for name in values:
        if name not in words:
            raise BadRequest(f"{place} has {name!r} in [{section}]{did_you_mean(name, sorted(words))}",
                             f"[{section}] takes any of {', '.join(sorted(words))}.")


def _rule(kind: str, values: Mapping[str, str]) -> Rule:
    lists = {name: tuple(filter(None, map(str.strip, text.split(",")))) for name, text in values.items()
             if name in _LISTS}
    numbers = {name: _number(f"{name} of {kind}", text, 1 if name in _SHARES else None)
               for name, text in values.items() if name not in _LISTS and name not in _SWITCHES}
    return Rule(kind, _switch(kind, values["enabled"]), numbers, lists)


def _number(name: str, text: str, most: float | None = None) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf") or (most is not None and number > most):
        bounds = f"from 0 to {most}" if most is not None else "from 0 on"
        raise ValueError(f"{name} is {text!r}, and takes a number {bounds}")
    return number


def _figures(gpu: str, text: str) -> tuple[float, float]:
    memory, comma, power = text.partition(",")
    if not comma:
        raise ValueError(f"{gpu} is {text!r}, and takes memory in GB and teraflops, such as 40, 312")
    return _number(f"memory of {gpu}", memory), _number(f"power of {gpu}", power)


def _switch(kind: str, text: str) -> bool:
    if text.lower() not in ("yes", "no"):
        raise ValueError(f"enabled of {kind} is {text!r}, and takes yes or no")
    return text.lower() == "yes"
