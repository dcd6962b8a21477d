"""The ``#SBATCH`` lines of a batch run: what a lease with these options would request from Slurm."""

from __future__ import annotations

from .. import _core
from .._engine.options import Options
from ..errors import BadRequest
from .placement import Placement


def job_lines(options: Options, place: Placement) -> list[str]:
    """Only the options that were given; the class and Slurm decide the rest, as for a lease."""
    wanted = options.resources
    if wanted.placement != "any":
        text = "--spread and --pack are about the nodes of leases, and a batch run is no lease"
        raise BadRequest(text, "Leave them out, or use --not-nodes.")
    if wanted.nodes > 1:
        raise BadRequest(f"nodes={wanted.nodes}: a batch run's script runs on one node",
                         "Leave it out, or use pounce.gang in a notebook.")
    workers, minutes = wanted.workers, wanted.time_min or place.time_min
    given = {
        "qos": place.qos,
        "partition": place.partition,
        "account": place.account,
        "nodes": "1",
        "ntasks": str(workers),
        "cpus-per-task": str(wanted.cpus or ""),
        "mem": f"{workers * wanted.memory_mib}M" if wanted.memory_mib else "",
        "gres": _gres(workers * wanted.gpus, place.gpu_type),
        "time": str(minutes or ""),
    }
    given |= {name: str(value) for field, name in _core.SBATCH_OPTIONS.items() if (value := getattr(wanted, field))}
    lines = [f"#SBATCH --{name}={quoted(value)}" for name, value in given.items() if value]
    for name, value in wanted.slurm.items():
        lines.append(f"#SBATCH --{name}" if value in ("", "true", "yes") else f"#SBATCH --{name}={quoted(value)}")
    return lines


def _gres(gpus: int, kind: str) -> str:
    return f"gpu:{kind}:{gpus}" if gpus and kind else f"gpu:{gpus}" if gpus else ""


def quoted(value: str) -> str:
    """A word quoted for sbatch, which reads such a line differently from a shell."""
    if "\n" in value or "\0" in value:
        raise BadRequest(f"{value!r} has a line break, which no line of a job script can hold", "Rename it.")
    rest = value.replace("/", "").replace("-", "").replace("_", "").replace(".", "").replace(":", "").replace(",", "")
    if rest.isalnum():
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def pattern(path: str) -> str:
    """A file's path, escaped for an option in which %j and the like mean something."""
    return path.replace("%", "%%")
