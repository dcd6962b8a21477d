"""``View``: calls under given resources. A client is one; ``options()`` makes more, which share its session."""

from __future__ import annotations

import concurrent.futures
import functools
import os
from collections.abc import Callable, Iterable, Sized
from typing import Any

from ._common.local_modules import Modules
from ._common.map_store import forget
from ._common.random_streams import Streams, derived
from ._engine import detached, seeds
from ._engine.options import Options, documentation, name_of_task
from ._engine.options import grace as _grace
from ._engine.session import Session
from ._engine.submission import Submitter, name_of
from ._engine.task import Task
from ._map.collections import Completed, Results, gather_async
from ._map.collections import gather as _gather
from ._map.restartable_map import RestartableResults, home_of, leave
from ._map.speculative_map import SpeculativeResults
from ._map.task_runs import TaskRuns
from ._sweep.member_runs import MemberRuns
from ._sweep.samplers import Space, source_of
from ._sweep.sweep_plan import Member, Metric, Stop
from ._sweep.sweep_words import check, sign_of
from .errors import BadRequest
from .executor import Executor
from .future import DetachedFuture, Future, engine_of
from .gangs import ElasticGang, Gang
from .gangs.gang_shape import shape_of
from .sweeps import Sweep


class View:
    """Submits functions under the resources that ``Client.options`` was given."""

    def __init__(self, submitter: Submitter, options: Options):
        self._submitter = submitter
        self._options = options

    @property
    def _session(self) -> Session:
        return self._submitter.session

    # ---- one call ----

    def submit(self, function: Callable[..., Any], /, *args: Any, pure: bool = False, retries: int = 0,
               **kwargs: Any) -> Future:
        """Runs ``function(*args, **kwargs)`` on a worker. Returns at once.

        Parameters
        ----------
        function : callable
            A function of this notebook travels by value, with what it captured; one that can be imported, by reference.
        *args, **kwargs
            Pickled now, so that small ones may be changed afterwards. Arguments of more than 1 MiB become objects: sent
            once to each worker, without a copy here, so an array must not be changed until its task has ended
            (docs/data.md; ``POUNCE_CHECK_MUTATION=1`` looks for that). A ``Ref``, at any depth, arrives as its value,
            and a future as its result: the call then waits for it, without a worker, and fails as it fails.
        pure : bool
            Accepted for the sake of ``distributed``'s signature; results are not cached.
        retries : int
            How often it may run again after it was lost with its worker (crash, out of memory, node failure, walltime).
            What the function raises itself is never retried.

        Raises
        ------
        NotPicklable
            Names the part of the function or argument that cannot travel.

        Examples
        --------
        >>> future = client.submit(sorted, [3, 1, 2], reverse=True)
        >>> future.result()
        [3, 2, 1]
        """
        if self._options.name:
            streams = seeds.of_call(function)
            task = self._submitter.submit_detached(self._options, function, args, kwargs, retries, streams)
            return DetachedFuture(self._session, task)
        return self._call(function, args, kwargs, retries, seeds.of_call(function))

    def _call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], retries: int,
              streams: Streams | None) -> Future:
        task = Task(name_of(function), self._options)
        future = Future(self._session, task)
        self._submitter.submit(task, function, args, kwargs, retries, streams, is_recorded=True)
        return future

    def _failed(self, function: Callable[..., Any], error: Exception) -> Future:
        """A call that was not sent and has ended with this error."""
        task = Task(name_of(function), self._options)
        future = Future(self._session, task)
        self._session.end_unsent(task, error.with_traceback(None))  # which holds the caller's frames
        return future

    def _call_that_may_run_twice(self, function: Callable[..., Any], *args: Any) -> tuple[Future, TaskRuns]:
        task = Task(name_of(function), self._options)
        runs = TaskRuns(self._session, task)
        future = Future(self._session, task)
        self._submitter.submit(task, function, args, {}, 0)
        return future, runs

    def options(self, *, env: str | os.PathLike[str] | None = None, **options: Any) -> View:
        """This client with other resources for its tasks.

        Parameters
        ----------
        {options}

        Raises
        ------
        BadRequest
            An unknown name (the valid ones are listed) or a value that is not one of these.

        Examples
        --------
        >>> small = client.options(cpus=1, memory="500MB", time="20min")
        >>> small.submit(pow, 2, 10).result()
        1024
        """
        submitter = self._submitter if env is None else self._submitter.in_environment(env)
        return View(submitter, self._options.changed(**options))

    def attach(self, name: str) -> DetachedFuture:
        """The task of that name, from any kernel. Blocks for pounced's answer.

        Raises
        ------
        NoSuchName
            Lists the names that there are.

        Examples
        --------
        >>> submitted = client.options(name="train-7").submit(pow, 2, 10)
        >>> later = client.attach("train-7")  # also in another kernel, days after
        >>> later.result(), later.state
        (1024, 'done')
        >>> later.forget()
        """
        return DetachedFuture(self._session, detached.attach(self._session, name_of_task(name)))

    def cancel(self, futures: Future | Iterable[Future], *, grace: Any = None) -> None:
        """Cancels tasks that wait, and interrupts tasks that run (KeyboardInterrupt). Does not block.

        If a task has not stopped after `grace`, its worker's Python is killed and started again: everything else kept
        there is lost. A function that catches the interrupt and returns has its result.

        Parameters
        ----------
        grace : float (seconds), timedelta or str, optional
            ``0`` kills at once, ``"10min"`` gives time to save; by default what the client was made with, 5 s. May be
            called again with a shorter one.

        Examples
        --------
        >>> future = client.submit(time.sleep, 1000)
        >>> client.cancel(future)
        >>> try:
        ...     future.result()
        ... except pounce.Cancelled:
        ...     print("it ended")
        it ended
        """
        seconds = None if grace is None else _grace(grace)
        for future in [futures] if isinstance(futures, Future) else futures:
            if isinstance(future, DetachedFuture):
                future.cancel()
            elif not future.done():
                session, task = engine_of(future)  # of this client or of one in another environment
                session.cancel(task, seconds)

    def gang(self, *, check: bool = False, **options: Any) -> Gang:
        """Several workers as the ranks of one program, such as a training with ``torch.distributed``. Returns at once.

        Parameters
        ----------
        workers : int or str
            How many ranks; by default one on each node.
        nodes : int or str
            On how many nodes, with as many ranks on each; 1 if ``workers`` is given. "1:4" makes the gang elastic: it
            begins with one node, and begins again with those that come or remain; each node is a Slurm job of its own
            then.
        spread, pack : bool
            Each rank on a node of its own, or all on one.
        check : bool
            Before each collective torch compares what the ranks call, with which shapes and dtypes, and names those
            that differ (TORCH_DISTRIBUTED_DEBUG=DETAIL). Use it to find a fault: each collective takes several times as
            long.
        **options
            Resources of each rank, as for ``options()``.

        Raises
        ------
        BadRequest
            As ``options()``.

        Examples
        --------
        >>> with client.gang(workers=2, cpus=1) as gang:
        ...     gang.run(lambda: pounce.rank().rank)
        [0, 1]
        """
        shape = shape_of(options)
        each = self._options.changed(**shape.words)
        if shape.most == 1:
            return Gang(self._submitter, each, check)
        return ElasticGang(self._submitter, each, shape, check)

    # ---- many calls ----

    def map(self, function: Callable[..., Any], /, *iterables: Iterable[Any], chunksize: int | None = None,
            timeout: float | None = None, name: str | None = None, speculate: bool = False) -> Results:
        """``function`` over every item, in order; as lazily as the built-in ``map``. Does not block.

        Items travel in chunks that take about 50 ms each, a few of them ahead of what was requested: the input may be
        endless, and memory stays small. Leaving the iteration early cancels what was sent ahead. Each item finds what
        the function captured as it was sent; only arrays, and data of more than 1 MiB, are shared by the items of a
        chunk.

        Parameters
        ----------
        *iterables
            As for the built-in ``map``: several iterables give several arguments, and the shortest ends it.
        chunksize : int, optional
            Items in one task; by default as many as take about 50 ms.
        timeout : float, seconds, optional
            For the whole iteration, from now.
        name : str, optional
            Makes a map that survives this kernel: the results of each chunk are kept on the disk when it has run, and
            the same call in a later kernel reads them and runs the others. ``chunksize=`` is needed then. Each item's
            result comes once; after a kernel was killed, each worker repeats at most the chunk that it was at. Kept
            until ``forget(name)``.
        speculate : bool
            A chunk that runs for clearly longer than the others took, because its worker is slow for example, is run on
            a second worker too, where one has nothing to do, and the first result counts: for functions that may run
            twice on one item. The other run is interrupted (KeyboardInterrupt) as a task that is cancelled: after the
            client's ``cancel_grace``, 5 s, its worker's Python is started anew. A worker that is lost does not fail the
            item while the other one runs. What both print is shown.

        Returns
        -------
        Results
            Iterate with ``for`` or ``async for``, or have a list made: ``gather(results)``. An item's exception is
            raised in its place and ends the iteration; so is what the input raises, after the results before it.

        Raises
        ------
        NameTaken
            Results of another function, of other items or of another ``chunksize=`` are kept under that name; or
            another kernel runs that map.

        Examples
        --------
        >>> list(client.map(abs, [-1, -2, -3], name="articles", chunksize=2))
        [1, 2, 3]
        >>> client.forget("articles")
        >>> list(client.map(pow, [2, 3, 4], [3, 2, 1]))
        [8, 9, 4]
        >>> list(client.map(abs, [-1, -2, -3], speculate=True))
        [1, 2, 3]
        """
        if chunksize is not None and chunksize < 1:
            raise BadRequest(f"chunksize= is at least 1, not {chunksize!r}")
        if self._options.name:
            raise BadRequest("a name of options() is for one task, and map makes many",
                             "Give it to map itself: map(..., name=...).")
        if not iterables:
            raise BadRequest("map takes a function and at least one iterable")
        count = min(len(rows) if isinstance(rows, Sized) else 0 for rows in iterables)
        expect = functools.partial(self._session.expect, self._options)
        rows = zip(*iterables)  # noqa: B905  as the built-in map
        if speculate and name is not None:
            raise BadRequest("a map with a name keeps one result of each chunk; speculate=True may make two",
                             "Leave out one of them.")
        if speculate:
            return SpeculativeResults(self, self._call_that_may_run_twice, self._session, function, rows, chunksize,
                                      timeout, count, expect)
        if name is None:
            return Results(self, function, rows, chunksize, timeout, count, expect)
        if chunksize is None:
            raise BadRequest("a map with a name keeps its results by chunks",
                             "Say how many items one has: chunksize=100.")
        return RestartableResults(self, home_of(self._session), name_of_task(name), function, rows, chunksize, timeout,
                                  count, expect)

    def forget(self, name: str) -> None:
        """Removes what is kept under that name of a map or a task. A task that has not ended is cancelled. Blocks.

        Raises
        ------
        NoSuchName
            Lists the names of tasks that there are.
        NameTaken
            Another kernel runs that map.

        Examples
        --------
        >>> list(client.map(abs, [-1], name="articles", chunksize=100))
        [1]
        >>> client.forget("articles")
        """
        home = home_of(self._session)
        leave(os.path.join(home, name_of_task(name)))
        if not forget(home, name):
            self.attach(name).forget()

    def sweep(self, function: Callable[..., Any], grid: Any, /, *, metric: Metric = None, direction: str | None = None,
              stop: Stop = None, retries: int = 0, space: Space = None, n_trials: int | None = None) -> Sweep:
        """``function(**params)`` for each of many parameters, as many at a time as there are workers. Returns at once.

        Parameters
        ----------
        function : callable
            Called with the parameters by their names. ``pounce.report(loss=...)`` in it tells how far it is.
        grid : dict of lists, iterable of dicts, or sampler
            ``{"lr": [0.1, 0.01], "depth": [2, 4]}`` is each combination, four members here. An iterable has one dict
            for each member, and is read as members are sent. A sampler has ``ask()`` and ``tell(trial, value, state)``,
            like a study of Optuna; the sweep's thread calls ``ask()`` for one member when there is a worker for it.
        metric : str or callable, optional
            How a member is judged: by the name of a value in its reports or in the dict that it returns, or by a
            function of what it returns; by default by what it returns.
        direction : {"minimize", "maximize"}, optional
            Which value is the best; by default what the study says, else the smallest.
        stop : callable or "median", optional
            Called with a member's reports, the newest last, after each of them: True ends the member, whose state is
            then ``"pruned"``. It is interrupted (KeyboardInterrupt) and, like a task that is cancelled, has the
            client's ``cancel_grace``, 5 s, to stop. ``"median"`` ends a member that is worse than half of the others
            after as many reports. By default a study's own pruner decides.
        retries : int
            How often a member that raised or was lost runs again; it runs after the members that wait.
        space : dict or callable
            For a sampler: the argument of its ``ask``; or a function that makes the parameters of a trial, called in
            this process: ``lambda trial: {"lr": trial.suggest_float("lr", 1e-4, 1e-1, log=True)}``. By default
            ``trial.params``.
        n_trials : int
            For a sampler: how many members.

        Raises
        ------
        BadRequest
            A grid, a metric or another argument that is not of its kind.
        NotPicklable
            Names the part of the function or of the first parameters that cannot travel.

        Examples
        --------
        >>> def train(lr, depth):
        ...     return (lr - 0.1) ** 2 + depth
        >>> sweep = client.sweep(train, {"lr": [0.01, 0.1], "depth": [2, 4]}).wait()
        >>> sweep.best.params, sweep.best.value, len(sweep)
        ({'lr': 0.1, 'depth': 2}, 2.0, 4)
        """
        if self._options.name:
            raise BadRequest("a name is for one task, and a sweep has many", "Leave out name=.")
        check(metric, stop, retries)
        name_of(function)
        source = source_of(grid, space, n_trials)
        at_a_time = max(self._options.resources.workers, self._options.resources.leases_most)
        streams = seeds.of_call(function)

        def call(member: Member) -> Future:
            return self._call(function, (), member.params, 0, streams and derived(streams, member.number))

        runs = MemberRuns.of_sweep(name_of(function), metric, self._options.resources.gpus)
        return Sweep(call, self.cancel, source, metric, stop, retries,
                     sign_of(direction, source), at_a_time, runs)

    def gather(self, futures: Any, errors: str = "raise", timeout: float | None = None,
               asynchronous: bool = False) -> Any:
        """Waits for all and returns their results in the same, possibly nested, shape of lists and dicts.

        The result of ``map`` gives a list.

        Parameters
        ----------
        errors : {"raise", "skip"}
            What to do with a task that failed: raise what it raised, or leave it out.
        timeout : float, seconds, optional
            For all of them together.
        asynchronous : bool
            Return a coroutine: ``await client.gather(futures, asynchronous=True)``.

        Examples
        --------
        >>> client.gather({"two": client.submit(pow, 2, 1), "rest": [client.submit(pow, 2, n) for n in range(3)]})
        {'two': 2, 'rest': [1, 2, 4]}
        >>> client.gather(client.map(pow, [2, 3], [3, 2]))
        [8, 9]
        """
        if errors not in ("raise", "skip"):
            raise BadRequest(f"errors= is 'raise' or 'skip', not {errors!r}")
        return (gather_async if asynchronous else _gather)(futures, errors == "skip", timeout)

    def as_completed(self, futures: Iterable[Future], *, with_results: bool = False,
                     timeout: float | None = None) -> Completed:
        """The futures in the order in which they end; with ``with_results`` pairs of future and result. Does not block.

        Examples
        --------
        >>> futures = [client.submit(pow, 2, n) for n in range(4)]
        >>> sorted(value for _, value in client.as_completed(futures, with_results=True))
        [1, 2, 4, 8]
        """
        return Completed(futures, with_results, timeout)

    def wait(self, futures: Iterable[Future], timeout: float | None = None, return_when: str = "ALL_COMPLETED") -> Any:
        """Blocks as ``concurrent.futures.wait`` and returns its ``(done, not_done)``; never raises on timeout."""
        return concurrent.futures.wait(futures, timeout, return_when)

    def get_executor(self) -> Executor:
        """This client as a ``concurrent.futures.Executor``, for programs that know only those.

        Examples
        --------
        >>> with client.get_executor() as executor:
        ...     list(executor.map(abs, [-1, -2]))
        [1, 2]
        """
        return Executor(self, self._failed)

    def __repr__(self) -> str:
        return f"<pounce.Client with {self._options}>"


if View.options.__doc__ is not None:  # None with -OO
    View.options.__doc__ = View.options.__doc__.replace("{options}", documentation(" " * 8))


def session_of(view: View) -> Session:
    """The session of its calls. For the modules of this package, not for users."""
    return view._session


def asks_of(view: View) -> Options:
    """The options of its calls. Also for this package only."""
    return view._options


def follow(view: View, modules: Modules) -> None:
    """Has the workers of all its calls load the user's modules as `modules` has them. Also for this package only."""
    view._submitter.follow(modules)


def view_with(view: View, options: Options, env: str) -> View:
    """A view with just these options, in environment `env` or its own. Also for this package only."""
    return View(view._submitter.in_environment(env) if env else view._submitter, options)
