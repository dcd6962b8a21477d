"""Messages about a rank of a gang: what a worker offers before a run, and what it gets for the run."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import public


@public
class Rank(NamedTuple):
    """The position of a process in its gang. ``pounce.rank()`` returns it inside a function that ``Gang.run`` runs."""

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0
    local_world_size: int = 1
    addresses: tuple[tuple[str, int], ...] = (("127.0.0.1", 0),)  # (IP address, port) where each rank listens


class Offer(NamedTuple):
    """What one worker has prepared: its sockets listen already."""

    process: str        # a unique word for each process
    node: str
    address: str        # IP
    interface: str      # of that address; empty: not found
    port: int           # where it listens as a rank
    store_port: int     # for the gang's store, if it becomes rank 0
    visible: str        # CUDA_VISIBLE_DEVICES at the start of its process: opaque words


class RankSetup(NamedTuple):
    process: str
    rank: Rank
    environment: dict[str, str]
    node_devices: str = ""  # of all ranks of its node, in the form of CUDA_VISIBLE_DEVICES
    node: str = ""

    @property
    def is_leader(self) -> bool:
        """Whether it is the first rank of its node."""
        return self.rank.local_rank == 0


CAME = "pounce_rank_came"  # the message of a rank that has reached a step of its group of devices


class Order(NamedTuple):
    """Describes to the ranks a value that one of them sends to the others' devices."""

    key: str                # of the value
    device: str             # "cuda": each rank's own
    group: str              # whose communicator all use
    pickle: bytes           # of the value, without the memory of its arrays
    sizes: tuple[int, ...]  # of that memory, in bytes
    limit: float            # seconds, for each step
    alive: frozenset[str]   # keys and groups that are still in use; the ranks drop the others


class PeerFailed(Exception):
    """A rank failed after another one, most likely because of it. Its argument is that rank, its cause that error."""

    @property
    def first(self) -> int:
        return int(self.args[0])
