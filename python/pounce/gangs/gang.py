"""``Gang``: the workers of one lease as the ranks of one program."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .. import errors
from .._common.random_streams import derived
from .._common.rank import Offer, RankSetup
from .._common.ref import Ref
from .._engine import seeds
from .._engine.options import Options
from .._engine.session import Session
from .._engine.submission import Submitter, name_of
from .._worker import rank_broadcast, rank_run
from ..errors import BadRequest
from ..future import Future
from ..lease import Lease, lease_with
from . import gang_plan
from .broadcasts import Broadcast, Broadcasts, Value, value_of
from .gang_plan import Kind
from .rank_tasks import Call, Rank, RankTasks, Run

_ARRIVAL_S = 120.0  # from the arrival of a lease's first worker to that of its last


@errors.public
class Sharded:
    """A value of which each rank has its part. Made by ``Gang.scatter(value, shard=axis)``; an argument of ``run``."""

    def __init__(self, parts: Sequence[Ref]):
        self.parts = tuple(parts)

    def __repr__(self) -> str:
        return f"<pounce.Sharded {len(self.parts)} parts>"


@errors.public
class Gang:
    """The ranks of one program, on the workers of one lease: one Slurm job, all of it or nothing. Made by
    ``pounce.gang`` and ``Client.gang``.

    Leave it with ``close()``, or use it as a context manager. Its lease is requested with the first call and stays,
    like any other, while it is used. One call runs at a time; any thread may make it.
    """

    def __init__(self, submitter: Submitter, options: Options, is_checked: bool = False):
        self._submitter = submitter
        self._tasks = RankTasks(submitter)
        self._ends_with: list[Callable[[], None]] = []
        self._broadcasts = Broadcasts(submitter.session)
        self._options = submitter.session.gangs.take(options)
        self._is_checked = is_checked
        self._one_run = threading.Lock()
        self._closed = False

    @property
    def size(self) -> int:
        """The number of ranks. Does not block."""
        return self._options.resources.workers

    @property
    def lease(self) -> Lease | None:
        """The lease that it has or waits for; None: none was requested yet, or it was given back. Does not block."""
        return lease_with(self._session, self._options)

    def run(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> list[Any]:
        """Calls the function on every rank at the same time and waits for all of them.

        Each rank finds RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT in its environment,
        and what else torchrun sets, so ``torch.distributed.init_process_group()``, Lightning and accelerate work
        unchanged. The store at that address listens before any rank begins. ``pounce.rank()`` has the same values, and
        an address of each rank. Output of rank 0 appears live, that of the others when all have ended. Stopping it (■,
        Ctrl-C) stops all ranks.

        Parameters
        ----------
        *args, **kwargs
            As for ``Client.submit``. Every rank gets the same; of a ``Sharded`` it gets its part.

        Returns
        -------
        list
            The returned values, in the order of the ranks.

        Raises
        ------
        Exception
            The exception of the first rank that failed, with its remote traceback and a note that names the rank, its
            node and its last output. The others are stopped; those that do not stop within 2 s are killed. Their
            workers come back.
        WorkerCrashed, OutOfMemory, NodeFailed, ...
            A rank was lost: the text begins with ``rank 3 of 16, on g2``.
        Timeout
            Some workers have not come within 120 s after the first one; they are named.

        Examples
        --------
        >>> with pounce.gang(workers=2) as gang:
        ...     gang.run(lambda: pounce.rank().rank ** 2)
        [0, 1]
        """
        streams = seeds.of_call(function)

        def call(place: RankSetup) -> tuple[Callable[..., Any], tuple[Any, ...]]:
            own = None if streams is None else derived(streams, place.rank.rank)
            return rank_run.run, (place, own, function, self._part(kwargs, place), *self._part(args, place))

        return self._together(name_of(function), call)

    def command(self, words: Sequence[str]) -> list[int]:
        """Runs a program once on each node and waits for all: ``["torchrun", "train.py"]`` starts the node's ranks
        itself.

        torchrun finds its options in the environment (PET_NNODES, PET_NPROC_PER_NODE, PET_RDZV_ENDPOINT, …). Output
        appears as that of ``run``.

        Returns
        -------
        list of int
            The exit codes, in the order of the nodes.

        Raises
        ------
        BadRequest
            The program does not exist on the node.

        Examples
        --------
        >>> with pounce.gang(workers=2) as gang:
        ...     gang.command(["true"])
        [0]
        """
        def call(place: RankSetup) -> tuple[Callable[..., Any], tuple[Any, ...]]:
            return rank_run.command, (place, gang_plan.torchrun_environment(place), list(words))

        return [code for code in self._together(words[0], call) if code is not None]

    def scatter(self, value: Any, shard: int | None = None, *, broadcast: bool = False,
                device: str | None = None) -> Any:
        """Sends a value ahead of the runs that use it.

        Parameters
        ----------
        value
            As for ``Client.scatter``. It must not be changed while a run may use it.
        shard : int, optional
            The axis along which each rank gets its part: an array's, or 0 for a list. The parts are consecutive; the
            first ones are larger by one where the length does not divide. None: every rank has all of it.
        broadcast : bool
            The value's numpy arrays and CPU tensors go to the device of each rank: to rank 0 over the network, and from
            its device to the others' by NCCL, so that the network carries them once. Blocks until they are there;
            stopping it (■, Ctrl-C) stops all ranks. A run gets ``DeviceArray`` and tensors on the rank's device, as
            with ``Client.scatter(device=…)``.
        device : str, optional
            For a broadcast: "cuda", each rank's own GPU, or "host". Default: "cuda" where the gang has GPUs.

        Returns
        -------
        Ref, Sharded or Broadcast
            An argument for ``run``.

        Raises
        ------
        Timeout
            A rank did not come to the broadcast; it is named.
        DeviceUnavailable, DeviceFailed, OutOfMemory
            The error of one rank's device during a broadcast.

        Examples
        --------
        >>> with pounce.gang(workers=2) as gang:
        ...     gang.run(sum, gang.scatter([1, 2, 3], shard=0))
        [3, 3]
        """
        if broadcast:
            if shard is not None:
                raise BadRequest("shard= and broadcast= contradict each other", "Leave one of them out.")
            return self._broadcast(value_of(value, device or ("cuda" if self._options.resources.gpus else "host")))
        if device is not None:
            raise BadRequest("device= is for a broadcast: each rank has a device of its own",
                             "Scatter it with broadcast=True.")
        if shard is None:
            return self._submitter.scatter(value)
        length = len(value) if shard == 0 else value.shape[shard]
        before = (slice(None),) * shard
        pieces = gang_plan.sharing(length, self.size)
        return Sharded([self._submitter.scatter(value[(*before, piece)] if shard else value[piece])
                        for piece in pieces])

    def gather(self, parts: Sequence[Any], axis: int = 0) -> Any:
        """Joins the ranks' arrays along an axis, or concatenates their lists: the opposite of ``scatter(shard=)``.

        Examples
        --------
        >>> with pounce.gang(workers=2) as gang:
        ...     gang.gather(gang.run(sorted, gang.scatter([3, 1, 2], shard=0)))
        [1, 3, 2]
        """
        if all(isinstance(part, list) for part in parts):
            return [item for part in parts for item in part]
        import numpy

        return numpy.concatenate(parts, axis=axis)

    def close(self) -> None:
        """Ends the gang. Its lease is kept or given back like any unused lease. Does not block."""
        if not self._closed:
            self._closed = True
            self._session.gangs.give_back(self._options)
            for end in self._ends_with:
                end()

    def ends_with(self, end: Callable[[], None]) -> Gang:
        """Calls `end` when the gang is closed: for what was made for this gang alone."""
        self._ends_with.append(end)
        return self

    def __enter__(self) -> Gang:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        nodes = f"{self._options.resources.nodes} node{'s' if self._options.resources.nodes > 1 else ''}"
        return f"<pounce.Gang of {self.size} ranks on {nodes}>"

    # ---- within ----

    @contextlib.contextmanager
    def _watched(self, of_rank_0: Callable[[Future], None]) -> Iterator[None]:
        self._tasks.of_rank_0 = of_rank_0
        try:
            yield
        finally:
            self._tasks.of_rank_0 = None

    @property
    def _session(self) -> Session:
        return self._submitter.session

    def _part(self, values: Any, place: RankSetup) -> Any:
        def part(value: Any) -> Any:
            if isinstance(value, Ref) and value.device:
                text = "a handle of data on a device is for calls: each rank of a gang has a device of its own"
                raise BadRequest(text, "Use gang.scatter(value, broadcast=True).")
            if isinstance(value, Broadcast):
                return rank_broadcast.Held(value.key)
            return value.parts[place.rank.rank] if isinstance(value, Sharded) else value

        if isinstance(values, dict):
            return {name: part(value) for name, value in values.items()}
        return tuple(map(part, values))

    def _together(self, name: str, call: Call) -> list[Any]:
        with self._alone():
            return self._all_of(name, call)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keeps other runs out meanwhile."""
        with self._one_run:
            if self._closed:
                raise BadRequest("this gang is closed", "Make another one.")
            yield

    def _all_of(self, name: str, call: Call) -> list[Any]:
        ranks, places = self._places()
        return self._run(name, ranks, places, call)

    def _places(self) -> tuple[list[Rank], list[RankSetup]]:
        """The ranks and their places. Blocks as `_offers` does."""
        ranks = [Rank(self._options, worker) for worker in range(self.size)]
        return ranks, gang_plan.places(self._offers(ranks), self._kind())

    def _run(self, name: str, ranks: list[Rank], places: list[RankSetup], call: Call) -> list[Any]:
        run = Run(self._tasks, name, ranks, places, call)
        run.wait()
        return self._results(run)

    def _broadcast(self, value: Value) -> Broadcast:
        with self._alone():
            ranks, places = self._places()
            group = self._broadcasts.group(value.device, places, lambda: self._new_group(ranks[0], value.device))
            order, data = self._broadcasts.order(value, group), self._submitter.scatter(value.buffers)

            def call(place: RankSetup) -> tuple[Callable[..., Any], tuple[Any, ...]]:
                return rank_broadcast.receive, (place, order, None if place.rank.rank else data)

            try:
                self._run("scatter", ranks, places, call)
            except BaseException as error:
                raise self._broadcasts.failed(group, error, self.size) from error.__cause__
            return self._broadcasts.done(order, value)

    def _new_group(self, rank: Rank, device: str) -> str:
        return str(self._tasks.start(rank, "new_group", rank_broadcast.new_group, (device,)).result())

    def _results(self, run: Run) -> list[Any]:
        """The results of all ranks. Raises the cause of a failure."""
        if run.failures:
            raise run.error(self._is_checked)
        return [future.result() for future in run.futures]

    def _offer(self, rank: int, future: Future) -> Offer:
        try:
            offer: Offer = future.result()
        except (errors.WorkerCrashed, errors.OutOfMemory) as error:  # the rank's own; others concern the lease
            node = error.context.get("node", "")
            gang_plan.named(error, gang_plan.in_words([rank], self.size, [node]), node, ())
            raise
        return offer

    def _kind(self, restart: int = 0) -> Kind:
        return Kind(f"pounce-{os.urandom(6).hex()}", self._is_checked, restart)

    def _offers(self, ranks: Sequence[Rank]) -> list[Offer]:
        """Blocks until the lease comes, without limit; then until its last worker comes."""
        futures = [self._tasks.start(rank, "offer", rank_run.offer) for rank in ranks]
        too_late = threading.Timer(_ARRIVAL_S, self._tasks.stop, [futures])
        first = threading.Lock()

        def came(future: Any) -> None:
            if not future.cancelled() and first.acquire(blocking=False):
                too_late.start()

        for future in futures:
            future.add_done_callback(came)
        try:
            return [self._offer(rank, future) for rank, future in enumerate(futures)]
        except errors.Cancelled:
            missing = ", ".join(str(rank) for rank, future in enumerate(futures) if future.cancelled())
            text = f"rank {missing} of {self.size} has not come within {_ARRIVAL_S:.0f} s after the first"
            remedy = "pouncectl logs shows what its node says; not_nodes= leaves a node out."
            raise errors.Timeout(text, remedy) from None
        except BaseException:
            self._tasks.stop(futures)
            raise
        finally:
            too_late.cancel()


def watched(gang: Gang, of_rank_0: Callable[[Future], None]) -> contextlib.AbstractContextManager[None]:
    """Meanwhile `of_rank_0` gets the future of each task that rank 0 is sent. For the modules of this package, not for
    users."""
    return gang._watched(of_rank_0)
