"""A rank of a gang, as it travels: what a worker offers before a run, and what it is told for it."""

from __future__ import annotations

from typing import NamedTuple


class Rank(NamedTuple):
    """Which of a gang's processes this is. ``pounce.rank()`` has it in a function that ``Gang.run`` runs."""

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0
    local_world_size: int = 1
    addresses: tuple[tuple[str, int], ...] = (("127.0.0.1", 0),)  # (IP address, port) of each rank, at which it listens


class Offer(NamedTuple):
    """What one worker has made ready: sockets that listen already."""

    process: str        # a word of its own for each process
    node: str
    address: str        # IP
    interface: str      # of that address; empty: not found
    port: int           # of its own
    store_port: int     # for the gang's store, if it becomes rank 0
    visible: str        # CUDA_VISIBLE_DEVICES that its process began with: opaque words


class Place(NamedTuple):
    """What one rank is told for one run."""

    process: str
    rank: Rank
    environment: dict[str, str]
    node_devices: str = ""  # of all ranks of its node, as CUDA_VISIBLE_DEVICES has them
    node: str = ""

    @property
    def is_leader(self) -> bool:
        """The first of its node."""
        return self.rank.local_rank == 0


CAME = "pounce_rank_came"  # the message of a rank that has come to a step of its group of devices


class Order(NamedTuple):
    """What the ranks are told of a value that one of them gives to the others' devices."""

    key: str                # of the value
    device: str             # "cuda": each rank's own
    group: str              # whose communicator all use
    pickle: bytes           # of the value, but for the memory of its arrays
    sizes: tuple[int, ...]  # of these, in bytes
    limit: float            # seconds, for each step
    alive: frozenset[str]   # keys that somebody has still, and groups that are used; the others end


class PeerFailed(Exception):
    """A rank failed after another one had: most likely of that. Its argument is that one's rank, its cause what it raised."""

    @property
    def first(self) -> int:
        return int(self.args[0])
