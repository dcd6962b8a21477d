"""What a task requests: from the words that people use to the numbers that travel."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from .. import _core
from ..errors import BadRequest
from . import requirements
from .durations import limit_seconds_of, seconds_of
from .wait_policy import Step, parsed

_MEMORY = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", re.IGNORECASE)
_MIB_OF = {"": 1 / 2**20, "k": 1 / 2**10, "m": 1, "g": 2**10, "t": 2**20}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MOST_WORKERS, MOST_LEASES, MOST_NICE = (_core.MOST[field] for field in ("workers", "leases_most", "nice"))
_HINTS = {
    "n_workers": "workers",
    "ntasks": "workers",
    "qos": "class_",
    "partition": "class_",
    "gpu": "gpus",
    "cpu": "cpus",
    "mem": "memory",
    "walltime": "time",
    "timelimit": "time",
    "gpu_mem": "gpu_memory",
    "exclude": "not_nodes",
    "constraint": "slurm",
}


_ANY_GPU = {"gpu_memory_mib": 0, "cuda": 0}  # a type, or no GPU at all, replaces these conditions

OF_THE_WAIT = frozenset(("nice",))  # resources that mean nothing once there is a worker


_DEFAULT = _core.Resources()


@dataclass(frozen=True)
class Options:
    """The resources of one worker, and how many workers. Tasks with equal options can share a lease. 0 and "" mean that
    the class decides."""

    resources: _core.Resources = _DEFAULT
    wait_policy: tuple[Step, ...] = ()  # what it does instead of waiting
    name: str = ""  # of one task that outlives its kernel

    def __hash__(self) -> int:
        slurm: Any = tuple(sorted(self.resources.slurm.items()))  # a dict has no hash
        return hash((self.resources._replace(slurm=slurm), self.wait_policy, self.name))

    def with_resources(self, **fields: Any) -> Options:
        return replace(self, resources=self.resources._replace(**fields))

    def changed(self, **words: Any) -> Options:
        """These options with some replaced. Takes the keywords of ``Client.options``."""
        for word in words:
            if word not in KEYWORDS:
                raise BadRequest(_unknown(word))
        changes: dict[str, Any] = {}
        for word, keyword in KEYWORDS.items():  # in this order: gpu_type= replaces the type that gpus= says
            if word in words:
                changes.update(keyword.parse(words[word]))
        changes.update(requirements.placement(words, self.resources.placement))
        of_gpus = [f"{word}=" for word in ("gpu_type", "gpu_memory", "cuda") if word in words]
        if of_gpus and changes.get("gpus", self.resources.gpus) == 0:
            if "gpus" in words:
                raise BadRequest(f"gpus=0 and {of_gpus[0]} contradict each other", "Leave one of them out.")
            changes["gpus"] = 1
        if "nodes" in words and "workers" not in words:  # one worker on each, unless more were requested before
            changes["workers"] = max(self.resources.workers, changes["nodes"])
        own = {field: changes.pop(field) for field in ("wait_policy", "name") if field in changes}
        changed = replace(self.with_resources(**changes), **own)
        wanted = changed.resources
        if wanted.leases_most and wanted.nodes > 1:
            raise BadRequest("the workers of a pool have leases of their own, each on one node", "Leave out nodes=.")
        if wanted.workers % wanted.nodes:
            raise BadRequest(f"workers={wanted.workers} on nodes={wanted.nodes} are not as many on each",
                             "Ask for a number of workers that the number of nodes divides.")
        if changed.name and wanted.leases_most:
            raise BadRequest("a name is for one task, and a pool is for many", 'Leave out name=, or say workers=1.')
        for field, name, unit in _TOGETHER:
            _check_all_workers(wanted.workers // wanted.nodes, getattr(wanted, field), field, name, unit)
        return changed


# What the workers on one node have together: the field, its keyword and its unit.
_TOGETHER = (("gpus", "gpus", ""), ("cpus", "cpus", ""), ("memory_mib", "memory", "MiB"))


def _check_all_workers(workers: int, each: int, field: str, name: str, unit: str) -> None:
    most = _core.MOST[field]
    if workers * each > most:
        together = f"workers={workers} and {name}={each}{unit} are {workers * each}{unit} on one node"
        raise BadRequest(together, f"Ask for at most {most}{unit} together.")


def name_of_task(value: Any) -> str:
    """Checks the name of a task that outlives its kernel."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise BadRequest(f"name= takes up to 64 letters, digits and . _ - with no sign in front, not {value!r}")
    return value


def grace(value: Any) -> float:
    """Seconds that a cancelled task has to stop: a number, a timedelta or a text such as "30s"."""
    seconds = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else seconds_of(value)
    if seconds is None or not seconds >= 0:
        raise BadRequest(f"a grace is a number of seconds, a timedelta or '30s', not {value!r}")
    return seconds


def _unknown(word: str) -> str:
    valid = ", ".join(f"{name}=" for name in (*KEYWORDS, "env"))
    hint = f"; use {_HINTS[word]}= instead" if word in _HINTS else ""
    return f"there is no option {word}={hint}; the options are {valid}"


def _class(value: Any) -> dict[str, Any]:
    if not isinstance(value, str) or not value:
        raise BadRequest(f"class_= takes the name of a class, as pounce.classes() lists them, not {value!r}")
    return {"class_": value}


def _bounded(word: str, field: str, number: float, unit: str, value: Any) -> dict[str, Any]:
    """The whole number that travels as `field`, rounded up. Its upper limit is shown in its own unit."""
    most = _core.MOST[field]
    if not number <= most:  # also refuses NaN
        raise BadRequest(f"{word}={value!r} is more than anybody can ask for", f"Ask for at most {most}{unit}.")
    return {field: math.ceil(number)}


def _gpus(value: Any) -> dict[str, Any]:
    """2, "a100:2", or "a100_3g.20gb" (one of that type)."""
    if isinstance(value, str):
        kind, colon, count = value.partition(":")
        if kind.isdigit() and not colon:
            if _is_count(kind):
                return {**_bounded("gpus", "gpus", int(kind), "", value), "gpu_type": ""}
        elif kind and (not colon or _is_count(count)):
            return {**_bounded("gpus", "gpus", int(count) if colon else 1, "", value), "gpu_type": kind, **_ANY_GPU}
    elif isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return {**_bounded("gpus", "gpus", value, "", value), "gpu_type": "", **(_ANY_GPU if value == 0 else {})}
    raise BadRequest(f"gpus= takes a number, 'a100', or 'a100:2', not {value!r}")


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20  # Python itself refuses to read thousands of digits


def _cpus(value: Any) -> dict[str, Any]:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadRequest(f"cpus= takes a number of CPUs, at least 1, not {value!r}")
    return _bounded("cpus", "cpus", value, "", value)


_RANGE = re.compile(r"\s*(\d{1,4})\s*:\s*(\d{1,4})\s*")


def _workers(value: Any) -> dict[str, Any]:
    """4 on one node, or "0:16": a pool, each with a lease of its own."""
    if isinstance(value, str) and (match := _RANGE.fullmatch(value)):
        least, most = int(match[1]), int(match[2])
        if least <= most and 1 <= most <= MOST_LEASES:
            return {"workers": 1, "leases_least": least, "leases_most": most}
    elif isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_WORKERS:
        return {"workers": value, "leases_least": 0, "leases_most": 0}
    raise BadRequest(f"workers= takes a number of processes on one node, 1 to {MOST_WORKERS}, or from how many to "
                     f"how many on any nodes, '0:16', {MOST_LEASES} at most, not {value!r}")


def _memory(value: Any) -> dict[str, Any]:
    return _bounded("memory", "memory_mib", _mib("memory", value), "MiB", value)


def _gpu_memory(value: Any) -> dict[str, Any]:
    return _bounded("gpu_memory", "gpu_memory_mib", _mib("gpu_memory", requirements.at_least(value)), "MiB", value)


def _mib(word: str, value: Any) -> float:
    """Bytes, or a text with a unit: "8GB" (as Slurm counts: 8 * 1024 MiB)."""
    if isinstance(value, str) and (match := _MEMORY.fullmatch(value)):
        mib = float(match[1]) * _MIB_OF[match[2].lower()]
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        mib = value / 2**20
    else:
        raise BadRequest(f"{word}= takes bytes or a text such as '8GB', not {value!r}")
    if not mib > 0:
        raise BadRequest(f"{word}= must be more than nothing, not {value!r}")
    return mib


def _time(value: Any) -> dict[str, Any]:
    """Takes seconds, a timedelta, "20min", "1h30m", or what sbatch takes: "30" (minutes), "1-12:00:00". Rounds up to
    minutes."""
    seconds = limit_seconds_of(value)
    if seconds is None or not seconds > 0:
        raise BadRequest(f"time= takes seconds, a timedelta, '20min', '30' (minutes) or '1-12:00:00', not {value!r}")
    if isinstance(value, str) and seconds == math.inf:
        raise BadRequest(f"time={value!r}: a lease has an end",
                         "Leave time= out for as long as the class gives, or name hours or days.")
    return _bounded("time", "time_min", seconds / 60, "min", value)


def _wait_policy(value: Any) -> dict[str, Any]:
    steps = parsed(value)
    for step in steps:
        if not step.cancels:
            Options().changed(**step.changes())  # checks the request
    return {"wait_policy": steps}


def _nice(value: Any) -> dict[str, Any]:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_NICE:
        raise BadRequest(f"nice= takes a number from 0 to {MOST_NICE}, the larger the later it may start, "
                         f"not {value!r}")
    return {"nice": value}


def _name(value: Any) -> dict[str, Any]:
    return {"name": name_of_task(value)}


class CellOption(NamedTuple):
    """One option of ``%%pounce``: a line of its help page, and what the tab key offers."""

    word: str
    value: str = ""    # its name on the help page; empty: it takes none
    example: str = ""
    help: str = ""     # empty: the option works but is not shown
    repeats: bool = False
    number: bool = False


class Keyword(NamedTuple):
    """A keyword of ``Client.options``: how its value is parsed, what its help says, and the option of a cell for it."""

    parse: Callable[[Any], dict[str, Any]]
    kind: str
    about: str
    cell: CellOption | None = None


KEYWORDS = {
    "workers": Keyword(_workers, "int or str", """
        ``4``: processes of one lease, one Slurm job on one node, so many tasks at a time. The resources below are
        *for each of them*: the job asks for as many times the GPUs, CPUs and memory. Each worker sees its own GPUs
        only; the memory is the job's, so a worker that takes more takes it from the others.
        ``"0:16"``: a pool of up to 16 workers, each with a lease of its own, on any nodes with room. A lease is
        requested when the waiting work is worth its start, and goes back when it has nothing to do; ``"2:16"`` has
        two as long as there is work at all."""),
    "gpus": Keyword(_gpus, "int or str", """
        ``1``, ``"a100:2"``, ``"a100_3g.20gb"``.""",
        CellOption("--gpu", "N|TYPE", "1", "how many GPUs, or which: 1, a100, a100:2")),
    "class_": Keyword(_class, "str", """
        A class of the cluster's policy, by its name. If none is named, the site's policy chooses one that gives
        what is requested; without a policy it is Slurm's default.""",
        CellOption("--class", "NAME", "short", "a class of this cluster; the tab key shows them")),
    "time": Keyword(_time, "float (seconds), timedelta or str", """
        Walltime of the lease: ``"20min"``, ``"1h30m"``, or a text as sbatch takes it: ``"30"`` (minutes),
        ``"1-12:00:00"``. A number is seconds. Slurm counts minutes: rounded up.""",
        CellOption("--time", "T", "20min", "how long the lease may last at most: 20min, 2h, 1-12:00:00")),
    "memory": Keyword(_memory, "int (bytes) or str", """
        ``"8GB"``.""",
        CellOption("--mem", "SIZE", "8GB", "memory: 8GB")),
    "cpus": Keyword(_cpus, "int", "",
        CellOption("--cpus", "N", "4", "processors", number=True)),
    "gpu_type": Keyword(requirements.gpu_type, "str or list of str", """
        ``"a100"``, or several, the preferred first: ``["a100", "v100"]``. One of them is taken when the lease is
        requested: the first that is free then, else the first that the cluster has. One GPU if ``gpus`` is not
        given.""",
        CellOption("--gpu-type", "T", "a100,v100", "one of these types, the preferred first: a100,v100")),
    "gpu_memory": Keyword(_gpu_memory, "int (bytes) or str", """
        The least memory of each GPU: ``">=20GB"``. The smallest GPU that has it is tried first. The site's policy
        says how much each type has.""",
        CellOption("--gpu-mem", "SIZE", "20GB", "memory of each GPU, at least: 20GB")),
    "cuda": Keyword(requirements.cuda, "str or float", """
        The least version that the GPU's driver must run: ``">=12"``, ``"12.4"``. The site's policy says what each
        type runs.""",
        CellOption("--cuda", "V", "12", "what its driver must run, at least: 12.4")),
    "nodes": Keyword(requirements.nodes, "int", """
        On how many nodes the workers of a lease are, as many on each: one job, which starts when all of it can. By
        default one; without ``workers``, a worker on each.""",
        CellOption("--nodes", "N", "1", number=True)),
    "not_nodes": Keyword(requirements.not_nodes, "str or list of str", """
        Nodes to leave out: ``"g1"``, ``"g[3-5]"``.""",
        CellOption("--not-nodes", "N", "g1", "nodes to leave out: g1,g2")),
    "account": Keyword(requirements.name_of("account", "of one of your accounts in Slurm"), "str", """
        Slurm's; by default the user's default account.""",
        CellOption("--account", "NAME", "ml", "whose account in Slurm")),
    "reservation": Keyword(requirements.name_of("reservation", "of a reservation in Slurm"), "str", """
        Of Slurm; by default none.""",
        CellOption("--reservation", "NAME", "course", "in time or room that is kept for some")),
    "nice": Keyword(_nice, "int", """
        By how much the job's priority in Slurm's queue is lowered, 0 to 2147483645. Tasks of another ``nice`` have
        leases of their own.""",
        CellOption("--nice", "N", "100",
                   "let other work go first: the larger N, the later it may start", number=True)),
    "slurm": Keyword(requirements.slurm, "dict", """
        Other options of ``sbatch``, as far as the site's policy passes them on: ``{"constraint": "nvlink"}``.""",
        CellOption("--slurm", "N=V", "constraint=nvlink",
                   "another option of Slurm, as far as the site passes it on: constraint=nvlink", repeats=True)),
    "spread": Keyword(requirements.spread, "bool", """
        Not on nodes with other leases of this client.""",
        CellOption("--spread", help="not on the nodes of your other leases")),
    "pack": Keyword(requirements.pack, "bool", """
        On a node with another lease of this client, if it has room at that moment.""",
        CellOption("--pack", help="on a node of your other leases")),
    "name": Keyword(_name, "str", """
        Names one task, which outlives this kernel: it has a lease of its own, runs to its end, and the worker keeps
        the result for 7 days. ``attach(name)`` finds it, from any later kernel too."""),
    "wait_policy": Keyword(_wait_policy, "str or list of str", """
        What a waiting task requests instead, in this order: ``"cpu"``, a GPU such as ``"a100_3g.20gb"``,
        ``"class=lion"`` or ``"cancel"``, each at once or after a wait: ``["a100_3g.20gb", "cpu@5min",
        "cancel@1h"]``. Times count from the submission."""),
}
_ENVIRONMENT = ("env", "path", """
        Another environment, as for ``Client``: ``"~/envs/jax"``. Its workers are others; a ``Ref`` does not reach
        them.""")


def documentation(indent: str) -> str:
    """The part of a numpydoc section that describes each option."""
    rows = [*((name, keyword.kind, keyword.about) for name, keyword in KEYWORDS.items()), _ENVIRONMENT]
    texts = [f"{name} : {kind}\n{textwrap.indent(textwrap.dedent(text).strip(), ' ' * 4)}" for name, kind, text in rows]
    return textwrap.indent("\n".join(texts), indent).strip()
