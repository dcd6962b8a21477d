"""``pouncectl run --mlflow``: the command as an MLflow run. It is begun and ended here; reports come from the worker.

MLflow is imported when a ``TrackedCommand`` is made, and not before.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import shlex
import sys
from typing import Any

from ._common import mlflow_uri
from .errors import BadRequest

OUTPUT = "output.txt"
_HEAD_BYTES, _TAIL_BYTES = 256 << 10, 768 << 10  # what is kept of the output
_MOST_CHARS = 6000  # of a parameter: MLflow's own limit
_RUN = "MLFLOW_RUN_ID"


class TrackedCommand:
    """One run. Its output may be kept by any thread, one at a time.

    Raises
    ------
    BadRequest
        There is no MLflow here, or the run cannot begin.
    """

    is_killed = False  # a signal ended it, or the request was taken back

    def __init__(self, command: list[str], experiment: str):
        try:
            self._mlflow: Any = importlib.import_module("mlflow")
        except ImportError as error:
            raise BadRequest(f"--mlflow needs MLflow, which {sys.executable} does not have: {error}",
                             "Install it there: pip install mlflow-skinny.") from None
        self._head, self._tail, self._left_out = bytearray(), bytearray(), 0
        above = os.environ.pop(_RUN, "")  # of the project that runs this: ours is its child
        tags = {"mlflow.source.name": command[0], "mlflow.source.type": "JOB"}
        try:
            if experiment:
                self._mlflow.set_experiment(experiment)
            self._info = self._mlflow.start_run(run_name=os.path.basename(command[0]), tags={
                **tags, **({"mlflow.parentRunId": above} if above else {})}).info
            self._mlflow.log_param("command", shlex.join(command)[:_MOST_CHARS])
        except Exception as error:
            raise BadRequest(f"the MLflow run cannot begin: {type(error).__name__}: {error}",
                             "See MLFLOW_TRACKING_URI, and whether its server answers.") from None

    def environment(self) -> dict[str, str]:
        """The command's own MLflow goes on in this run."""
        return {_RUN: self._info.run_id, "MLFLOW_EXPERIMENT_ID": self._info.experiment_id,
                "MLFLOW_TRACKING_URI": mlflow_uri.absolute(self._mlflow.get_tracking_uri())}

    def keep(self, data: bytes) -> None:
        """Of what it prints the beginning and the end."""
        room = _HEAD_BYTES - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * _TAIL_BYTES:
            self._cut()

    def came_back(self, code: int, where: dict[str, str]) -> int:
        """Its exit code; negative: the signal that ended it. `where`: tags."""
        self.is_killed = code < 0
        self._recorded(lambda: self._mlflow.set_tags(where))
        return code

    def end(self, code: int) -> None:
        """A server that does not answer costs the rest of the record, and not the exit code."""
        status = "KILLED" if self.is_killed else "FAILED" if code else "FINISHED"
        self._recorded(lambda: self._mlflow.set_tag("pounce.exit_code", str(code)))
        if self._head:
            self._recorded(lambda: self._mlflow.log_text(self._output(), OUTPUT))
        with contextlib.redirect_stdout(sys.stderr):  # it prints where the run can be seen
            self._recorded(lambda: self._mlflow.end_run(status))

    def _output(self) -> str:
        self._cut()
        gap = f"\n[pounce: {self._left_out} bytes are left out here]\n".encode() if self._left_out else b""
        return bytes(self._head + gap + self._tail).decode("utf-8", "replace")

    def _cut(self) -> None:
        more = max(len(self._tail) - _TAIL_BYTES, 0)
        self._left_out += more
        del self._tail[:more]

    def _recorded(self, write: Any) -> None:
        try:
            write()
        except Exception as error:
            print(f"pouncectl run: the MLflow run lacks something: {type(error).__name__}: {error}", file=sys.stderr)
