"""Who is which rank, what each finds in its environment, and which of several failures is the cause. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .. import errors
from .._common.rank import Offer, Place, Rank

# Ended from outside while it ran: what its peers raise then is a consequence.
_LOST = (errors.WorkerCrashed, errors.OutOfMemory, errors.LostError)


class Failure(NamedTuple):
    rank: int
    error: BaseException


def places(offers: Sequence[Offer], run: str) -> list[Place]:
    """One for each worker, in the order of the workers: that is the order of the ranks. `run` names this run among all."""
    nodes = list(dict.fromkeys(offer.node for offer in offers))
    of_node = {node: [rank for rank, offer in enumerate(offers) if offer.node == node] for node in nodes}
    addresses = tuple((offer.address, offer.port) for offer in offers)
    made = []
    for number, offer in enumerate(offers):
        beside = of_node[offer.node]
        rank = Rank(number, len(offers), beside.index(number), len(beside), addresses)
        devices = [offers[other].visible for other in beside]
        environment = _environment(rank, offers[0], offer, run, nodes.index(offer.node), len(nodes))
        if all(devices):  # in the order of the local ranks: LOCAL_RANK is then the number of this rank's own, as its libraries expect
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(devices)
        made.append(Place(offer.process, rank, environment))
    return made


def _environment(rank: Rank, first: Offer, own: Offer, run: str, node: int, nodes: int) -> dict[str, str]:
    """As torchrun sets it (docs.pytorch.org, "torchrun", environment variables), with the store at the agent's: it listens already."""
    environment = {
        "RANK": rank.rank, "WORLD_SIZE": rank.world_size, "LOCAL_RANK": rank.local_rank, "LOCAL_WORLD_SIZE": rank.local_world_size,
        "GROUP_RANK": node, "GROUP_WORLD_SIZE": nodes, "ROLE_RANK": rank.rank, "ROLE_WORLD_SIZE": rank.world_size, "ROLE_NAME": "default",
        "MASTER_ADDR": first.address, "MASTER_PORT": first.store_port,
        "TORCHELASTIC_RUN_ID": run, "TORCHELASTIC_USE_AGENT_STORE": True, "TORCHELASTIC_RESTART_COUNT": 0, "TORCHELASTIC_MAX_RESTARTS": 0,
    }
    if own.interface:
        environment |= {"GLOO_SOCKET_IFNAME": own.interface, "NCCL_SOCKET_IFNAME": f"={own.interface}"}
    return {name: str(value) for name, value in environment.items()}


def torchrun_environment(place: Place) -> dict[str, str]:
    """What torchrun takes for its options, of the node that `place` leads: it starts the ranks of the node itself."""
    given = place.environment
    return {
        "PET_NNODES": given["GROUP_WORLD_SIZE"], "PET_NPROC_PER_NODE": given["LOCAL_WORLD_SIZE"], "PET_RDZV_BACKEND": "c10d",
        "PET_RDZV_ID": given["TORCHELASTIC_RUN_ID"], "PET_RDZV_CONF": "is_host=false",
        "PET_RDZV_ENDPOINT": f"{given['MASTER_ADDR']}:{given['MASTER_PORT']}",
    }


def cause(failures: Sequence[Failure]) -> Failure:
    """Of those that came, in the order in which they came: one that was lost; else the first."""
    return next((failure for failure in failures if isinstance(failure.error, _LOST)), failures[0])


def sharing(total: int, parts: int) -> list[slice]:
    """`total` items in `parts` pieces that follow each other, the first ones larger by one where it does not divide."""
    each, more = divmod(total, parts)
    begin, pieces = 0, []
    for part in range(parts):
        pieces.append(slice(begin, begin + each + (part < more)))
        begin = pieces[-1].stop
    return pieces
