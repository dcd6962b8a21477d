"""Which worker is which rank, the environment of each rank, and which of several failures is the cause. Pure."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Sequence
from typing import NamedTuple

from .. import errors
from .._common.rank import Offer, PeerFailed, Rank, RankSetup

# The lease of a rank ended, with all that ran there.
LEASE_ENDED = (errors.NodeFailed, errors.Preempted, errors.JobCancelled, errors.WalltimeReached, errors.LeaseEnded,
               errors.LostError)
# The rank was ended from outside: what its peers raise then is a consequence.
LOST = (errors.WorkerCrashed, errors.OutOfMemory, *LEASE_ENDED)
_NODES_NAMED = 4  # of more than these only the number is given


class Failure(NamedTuple):
    rank: int
    error: BaseException


class Kind(NamedTuple):
    name: str                 # unique among all runs
    is_checked: bool = False  # torch compares the ranks' collective calls
    restart: int = 0          # how often it was restarted with other ranks


def places(offers: Sequence[Offer], kind: Kind) -> list[RankSetup]:
    """One place for each worker. The order of the workers is the order of the ranks."""
    nodes = list(dict.fromkeys(offer.node for offer in offers))
    of_node = {node: [rank for rank, offer in enumerate(offers) if offer.node == node] for node in nodes}
    addresses = tuple((offer.address, offer.port) for offer in offers)
    made = []
    for number, offer in enumerate(offers):
        beside = of_node[offer.node]
        rank = Rank(number, len(offers), beside.index(number), len(beside), addresses)
        devices = [offers[other].visible for other in beside]
        environment = _environment(rank, offers[0], offer, kind, nodes.index(offer.node), len(nodes))
        if kind.is_checked:
            environment["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL"
        if _is_numbered_by_local_rank(devices):
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(devices)
        made.append(RankSetup(offer.process, rank, environment, ",".join(filter(None, devices)), offer.node))
    return made


def _is_numbered_by_local_rank(devices: Sequence[str]) -> bool:
    """Whether each rank may see the devices of all ranks on its node, so that its own is device number LOCAL_RANK.

    Not where a rank has several devices, or none. Of several MIG instances a process sees only the first (CUDA's C
    programming guide, "CUDA environment variables"). Two devices of one name are of two jobs, each of which counts its
    own.
    """
    is_one = all(names and "," not in names and not names.startswith("MIG-") for names in devices)
    return is_one and len(set(devices)) == len(devices)


def _environment(rank: Rank, first: Offer, own: Offer, kind: Kind, node: int, nodes: int) -> dict[str, str]:
    """As torchrun sets it (docs.pytorch.org, "torchrun", environment variables). The store is at the agent's address,
    where it listens already."""
    environment = {
        "RANK": rank.rank, "WORLD_SIZE": rank.world_size,
        "LOCAL_RANK": rank.local_rank, "LOCAL_WORLD_SIZE": rank.local_world_size,
        "GROUP_RANK": node, "GROUP_WORLD_SIZE": nodes,
        "ROLE_RANK": rank.rank, "ROLE_WORLD_SIZE": rank.world_size, "ROLE_NAME": "default",
        "MASTER_ADDR": first.address, "MASTER_PORT": first.store_port,
        "TORCHELASTIC_RUN_ID": kind.name, "TORCHELASTIC_USE_AGENT_STORE": True,
        "TORCHELASTIC_RESTART_COUNT": kind.restart, "TORCHELASTIC_MAX_RESTARTS": kind.restart,
    }
    if own.interface:
        environment |= {"GLOO_SOCKET_IFNAME": own.interface, "NCCL_SOCKET_IFNAME": f"={own.interface}"}
    return {name: str(value) for name, value in environment.items()}


def torchrun_environment(place: RankSetup) -> dict[str, str]:
    """torchrun's options for the node that `place` leads, as variables. torchrun starts the node's ranks itself."""
    given = place.environment
    devices = {"CUDA_VISIBLE_DEVICES": place.node_devices} if place.node_devices else {}
    return devices | {
        "PET_NNODES": given["GROUP_WORLD_SIZE"], "PET_NPROC_PER_NODE": given["LOCAL_WORLD_SIZE"],
        "PET_RDZV_BACKEND": "c10d", "PET_RDZV_ID": given["TORCHELASTIC_RUN_ID"], "PET_RDZV_CONF": "is_host=false",
        "PET_RDZV_ENDPOINT": f"{given['MASTER_ADDR']}:{given['MASTER_PORT']}",
        # Otherwise the ranks look for the first node by its host's name.
        "PET_LOCAL_ADDR": place.rank.addresses[place.rank.rank][0],
    }


def cause(failures: Sequence[Failure]) -> Failure:
    """The failure that is least likely a consequence of another; of equals the first that came."""
    first = min(failures, key=lambda failure: _consequence(failure.error))
    if isinstance(first.error, PeerFailed) and first.error.__cause__ is not None:  # its peer's own failure never came
        return Failure(first.rank, first.error.__cause__)
    return first


def _consequence(error: BaseException) -> int:
    """How likely another rank's failure caused this one; 0: it cannot have."""
    if isinstance(error, PeerFailed):
        return 4
    if isinstance(error, LOST):
        return 2 if is_of_a_collective(error) else 0
    return 3 if is_of_a_peer(error) else 1


def ranks_of(failure: Failure, leases: Sequence[object]) -> list[int]:
    """The ranks that failed with it: with a lease end all ranks on that lease. `leases`: the lease of each rank."""
    if not isinstance(failure.error, LEASE_ENDED) or isinstance(failure.error, errors.LostError):
        return [failure.rank]
    return [rank for rank, lease in enumerate(leases) if lease == leases[failure.rank]]


def in_words(ranks: Sequence[int], size: int, nodes: Sequence[str]) -> str:
    """"rank 3 of 16, on g2"; `nodes`: of each of these ranks."""
    names = list(dict.fromkeys(filter(None, nodes)))
    where = f", on {', '.join(names) if len(names) <= _NODES_NAMED else f'{len(names)} nodes'}" if names else ""
    return (f"all {size} ranks" if 1 < len(ranks) == size else f"{_ranks(ranks)} of {size}") + where


def named(error: errors.PounceError, who: str, node: str, last_lines: Sequence[str]) -> None:
    """Puts `who` in front of its text, and the rank's last lines into its context unless the supervisor sent some."""
    error.text = f"{who}: {error.text.replace(f'worker on {node}', 'worker', 1)}"
    error.args = (error.text,)
    if last_lines and not error.context.get("last_lines"):
        error.context["last_lines"] = "\n".join(last_lines)


def notes(failure: Failure, who: str, last_lines: Sequence[str], returned: Sequence[int],
          is_checked: bool) -> list[str]:
    """Notes on what the traceback does not show. `returned`: the ranks that ended well."""
    lines = [f"{who}; the others were stopped"]
    if last_lines and not isinstance(failure.error, errors.PounceError):  # which has them in its context
        lines.append("\n".join(["its last lines:", *(f"    {line}" for line in last_lines)]))
    if not is_of_a_collective(failure.error):
        return lines
    if returned:
        lines.append(f"{_ranks(returned)} returned: what torch.distributed does together, every rank must call")
    if not is_checked:
        lines.append("where ranks do not call the same, gang(..., check=True) names what differs")
    return lines


def is_of_a_peer(error: BaseException) -> bool:
    """Whether the error says that another rank is gone, or may say no more than that."""
    return isinstance(error, (ConnectionError, EOFError)) or is_of_a_collective(error)


def is_of_a_collective(error: BaseException) -> bool:
    """Whether torch.distributed raised it, or a library of its ended the process: these abort when lengths differ."""
    if isinstance(error, errors.WorkerCrashed):
        return error.signal == signal.SIGABRT
    return any("torch/distributed/" in frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__))


def _ranks(numbers: Sequence[int]) -> str:
    return f"rank{'s' if len(numbers) > 1 else ''} {', '.join(map(str, sorted(numbers)))}"


def sharing(total: int, parts: int) -> list[slice]:
    """`total` items in `parts` consecutive pieces; the first ones are larger by one where `total` does not divide."""
    each, more = divmod(total, parts)
    begin, pieces = 0, []
    for part in range(parts):
        pieces.append(slice(begin, begin + each + (part < more)))
        begin = pieces[-1].stop
    return pieces
