"""Where a batch run is submitted: its class, QoS and partition, as pounced would decide them for a lease."""

from __future__ import annotations

import json
import subprocess
from typing import Any, NamedTuple

from .. import _core, errors
from .._engine.daemon import find_program
from .._engine.options import Options

COMMAND = "{command}"
_TAKES_LONG_S = 60


class Placement(NamedTuple):
    class_: str = ""
    qos: str = ""
    partition: str = ""
    account: str = ""
    gpu_type: str = ""
    time_min: int = 0
    prologue: str = ""
    interpreter: str = ""  # the site's, for workers that name none
    container: tuple[str, ...] = (COMMAND,)  # the command that runs a worker's own command in a container


def placed(options: Options) -> Placement:
    """Blocks for the site's policy, and for Slurm. Without Slurm on this machine the script is for a Slurm elsewhere,
    and the class is taken as the QoS.

    Raises
    ------
    Unsatisfiable, BadRequest, SlurmUnreachable, ...
        As a lease with these options would.
    """
    request = json.dumps(_request(options.resources))
    words = [find_program("pouncectl"), "policy", "explain", "--here", "--json", "--request", request]
    try:
        answer = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_TAKES_LONG_S)
        plan = json.loads(answer.stdout)
    except subprocess.TimeoutExpired:
        raise errors.SlurmUnreachable(f"pouncectl policy explain did not answer within {_TAKES_LONG_S} s") from None
    except ValueError:
        text = f"pouncectl policy explain said nothing that can be read: {answer.stderr.strip()}"
        raise errors.InternalError(text) from None
    if "error" in plan:
        error = plan["error"]
        if error["code"] in ("no_slurm", "slurm_config"):
            wanted = options.resources
            gpu_type = wanted.gpu_type.split(",")[0]
            return Placement(wanted.class_, wanted.class_, "", wanted.account, gpu_type, wanted.time_min)
        raise errors.make(error["code"], error["text"], error.get("remedy", ""), error.get("context", {}))
    return Placement(plan["class"], plan["qos"], plan["partition"], plan["account"], plan["gpu_type"], plan["time_min"],
                     plan["prologue"], plan["interpreter"], tuple(plan["container"]))


def _request(wanted: _core.Resources) -> dict[str, Any]:
    major, minor = divmod(wanted.cuda, 1000)
    words = {
        "class": wanted.class_, "gpus": wanted.gpus, "gpu_type": wanted.gpu_type, "cpus": wanted.cpus,
        "account": wanted.account, "memory": f"{wanted.memory_mib}MB" if wanted.memory_mib else "",
        "time": f"{wanted.time_min}min" if wanted.time_min else "",
        "gpu_memory": f"{wanted.gpu_memory_mib}MB" if wanted.gpu_memory_mib else "",
        "cuda": f"{major}.{minor // 10}" if wanted.cuda else "", "workers": wanted.workers,
        "slurm": wanted.slurm}
    return {word: value for word, value in words.items() if value}
