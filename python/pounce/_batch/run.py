"""``BatchRun``: a batch run as an object, found by its name from any kernel."""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import stat
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from .. import _core, errors
from .._common.report import in_words
from . import slurm
from .run_folder import RunFolder
from .script import CHECKPOINTED

_LOOK_S = 0.3       # between two looks at the folder
_ASK_SLURM_S = 5.0  # between two questions to Slurm
_SEEN_LATE_S = 90.0  # a file that a job wrote on another machine may appear this late: directories are cached
_TELLS_WHY_S = 5.0   # how long Slurm may take to say why a job ended after its script has
_LAST_LINES = 12
_clock = time.monotonic
_without_end: dict[tuple[Path, int], float] = {}  # jobs that ended without writing so: when that was first seen

_OF_SLURM = {"PENDING": "waiting", "CONFIGURING": "waiting", "REQUEUED": "waiting", "REQUEUE_HOLD": "waiting",
             "SUSPENDED": "waiting", "RUNNING": "running", "COMPLETING": "running", "COMPLETED": "done"}
_WHY = {
    "TIMEOUT": ("walltime_reached", "Slurm ended it: its time was over"),
    "DEADLINE": ("walltime_reached", "Slurm ended it: its deadline had come"),
    "NODE_FAIL": ("node_failed", "Slurm lost its node"),
    "BOOT_FAIL": ("node_failed", "its node did not start"),
    "OUT_OF_MEMORY": ("out_of_memory", "it used more memory than it had"),
    "PREEMPTED": ("preempted", "a job of a class with precedence took its place"),
    "CANCELLED": ("job_cancelled", "its job was cancelled"),
}


class Standing(NamedTuple):
    state: str  # written, waiting, running, done, failed, ended
    job: int = 0
    exit_code: int | None = None
    word: str = ""    # Slurm's, where the script did not come to its end
    reason: str = ""  # Slurm's, to wait


@errors.public
class BatchRun:
    """One batch run. Made by ``%pounce batch`` and found again by ``pounce.batch(name)``.

    Examples
    --------
    >>> run = pounce.batch("train")  # doctest: +SKIP
    >>> run.state, run.job  # doctest: +SKIP
    ('running', 48213)
    >>> run.result()  # doctest: +SKIP
    PosixPath('/home/ada/pounce-batch/train/executed.ipynb')
    """

    def __init__(self, folder: RunFolder):
        self._folder = folder

    @property
    def name(self) -> str:
        return self._folder.name

    @property
    def folder(self) -> Path:
        """Script, input, log, executed notebook and result lie here."""
        return self._folder.path

    @property
    def script(self) -> Path:
        """What ``sbatch`` takes."""
        return self._folder.script

    @property
    def job(self) -> int:
        """Slurm's number of the last job; 0: it was not submitted."""
        return self._folder.job()

    @property
    def state(self) -> str:
        """``"written"``, ``"waiting"``, ``"running"``, ``"done"``, ``"failed"`` (it came to its end) or ``"ended"``
        (Slurm ended it). Blocks for Slurm while it has not ended."""
        return self.standing().state

    def submit(self, link: Path | None = None) -> BatchRun:
        """Gives the script to ``sbatch``, by the name `link` if that is a link to it. A run that has ended goes on from
        its last ``pounce.checkpoint``.

        Blocks for Slurm.

        Raises
        ------
        NameTaken
            It waits or runs.
        NoSlurm, Rejected
            There is no sbatch here; Slurm refuses it, in its words.
        OutcomeUnknown
            sbatch succeeded but printed no number, and squeue shows no job of this run. A job that appears later is
            found by its script.
        """
        now = self.standing()
        if now.state in ("waiting", "running"):
            raise errors.NameTaken(f"the batch run {self.name} is {now.state}: job {now.job}, in {self.folder}",
                                   f"Wait for it, or end it: scancel {now.job}.")
        before = self._folder.job()
        try:
            self._folder.add_job(slurm.submit(link or self.script, self._folder.secrets()))
        except errors.OutcomeUnknown:
            if self._folder.job() == before:  # otherwise it has begun already: its script notes its number
                raise
        return self

    def cancel(self) -> None:
        """Ends its job, waiting or running. Blocks for Slurm."""
        now = self.standing()
        if now.state in ("waiting", "running"):
            slurm.cancel(now.job)

    @property
    def reported(self) -> dict[str, Any]:
        """What its programs reported last: ``status``, ``numbers`` (of the last 12 names), ``count`` of the reports and
        ``mlflow_run``. Empty: nothing yet."""
        return self._folder.reported()

    def log(self) -> str:
        """The output of all its jobs."""
        try:
            return self._folder.log.read_text(errors="replace")
        except OSError:
            return ""

    def follow(self, timeout: float | None = None) -> BatchRun:
        """Shows what it prints from its beginning until it has ended. Stopping this stops nothing else.

        Raises
        ------
        Timeout
            It has not ended after so many seconds. It goes on.
        """
        self._wait(timeout, shows=True)
        return self

    def result(self, timeout: float | None = None) -> Any:
        """Waits for the run's end. Returns a function's value; the variables of ``--out``, by name; or else the path
        of the executed notebook.

        Raises
        ------
        TaskRaised
            It failed: the error, and the log's last lines.
        WalltimeReached, NodeFailed, OutOfMemory, Preempted, JobCancelled, LeaseEnded
            Slurm ended it. ``submit()`` goes on from its last checkpoint.
        Timeout
            It has not ended after so many seconds. It goes on.
        BadRequest
            It was never submitted.
        """
        end = self._wait(timeout)
        if end.state != "done":
            raise self._error(end)
        if not self._folder.result.exists():
            return self._folder.executed
        return self._kept()["value"]

    # ---- its state ----

    def standing(self) -> Standing:
        """Its state, job and exit code, and Slurm's words of them. Blocks for Slurm while it has not ended."""
        noted = self._folder.job()
        now = self._of_job(noted) if noted else Standing("written")
        if now.state in ("waiting", "running"):
            return now
        try:
            other = slurm.of_script(self.script)  # submitted by hand: it notes its number when it starts
        except errors.SlurmUnreachable:
            if not noted:
                raise
            return now
        return self._of_job(other) if other not in (0, noted) else now

    def _of_job(self, job: int) -> Standing:
        if (end := self._end_of(job)) is not None:
            return end
        word, reason = slurm.state(job)
        state = _OF_SLURM.get(word, "ended" if not word or slurm.has_ended(word) else "running")
        if state not in ("ended", "done"):
            return Standing(state, job, None, word, reason)
        self._folder.look_again()
        if (end := self._end_of(job)) is not None:  # it ended between the two looks
            return end
        may_come = word in ("COMPLETED", "FAILED") and self._may_come(job)
        return Standing("running" if may_come else "ended", job, None, word, reason)

    def _end_of(self, job: int) -> Standing | None:
        ended = self._folder.ended()
        if ended is None or ended[0] != job:
            return None
        return Standing("failed" if ended[1] else "done", job, ended[1])

    def _may_come(self, job: int) -> bool:
        """Whether this machine may still see the end that the job wrote."""
        return _clock() - _without_end.setdefault((self.folder, job), _clock()) < _SEEN_LATE_S

    def _wait(self, timeout: float | None, shows: bool = False) -> Standing:
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        shown, ask_again, waits_for = 0, 0.0, ""
        now: Standing | None = None
        while True:
            if now is None or time.monotonic() >= ask_again or self._end_of(now.job) is not None:
                now, ask_again = self._standing_after(now), time.monotonic() + _ASK_SLURM_S
            if shows:
                shown = self._show_from(shown)
                waits_for = self._tell(now, waits_for)
            if now.state == "written":
                raise errors.BadRequest(f"the batch run {self.name} was not submitted",
                                        f"Submit it: sbatch {self.script}.")
            if now.state not in ("waiting", "running"):
                if shows:
                    self._show_from(shown)
                return now
            if time.monotonic() >= deadline:
                raise errors.Timeout(f"the batch run {self.name} is {now.state} after {timeout:g} s; it goes on")
            time.sleep(_LOOK_S)

    def _standing_after(self, last: Standing | None) -> Standing:
        """The state now, or the last one if Slurm does not answer."""
        try:
            return self.standing()
        except errors.SlurmUnreachable:
            if last is None:
                raise
            return last

    def _show_from(self, shown: int) -> int:
        try:
            with self._folder.log.open("rb") as file:
                file.seek(shown)
                data = file.read()
        except OSError:
            return shown
        if data and sys.stdout is not None:
            sys.stdout.write(data.decode("utf-8", "replace"))
            sys.stdout.flush()
        return shown + len(data)

    def _tell(self, now: Standing, told: str) -> str:
        reason = now.reason if now.state == "waiting" and now.reason != "None" else ""
        if reason and reason != told:
            text = f"pounce: batch run {self.name} waits: job {now.job}, Slurm says {reason}"
            print(_core.printable(text), file=sys.stderr, flush=True)
        return reason or told

    def _error(self, end: Standing) -> errors.PounceError:
        last = "\n".join(self.log().splitlines()[-_LAST_LINES:])
        context = {"job": str(end.job), "log": str(self._folder.log), "last_lines": last}
        if end.exit_code is not None:
            again = (f"%pounce batch --resume {self.name} runs it again." if end.exit_code == CHECKPOINTED
                     else "Its last lines say more.")
            said = self._kept().get("error") if self._folder.result.exists() else ""
            word = "" if said or end.exit_code == CHECKPOINTED else self._word_of_end(end.job)
            if word not in _WHY:
                said = said or f"exit code {end.exit_code}"
                return errors.make("task_raised", f"the batch run {self.name} ended with {said}", again, context)
        else:
            word = end.word.rstrip("+")
        code, text = _WHY.get(word, ("lease_ended", f"Slurm says {word or 'nothing of its job any more'}"))
        kept = ("from its last checkpoint" if (self.folder / "checkpoint").exists()
                else "from its beginning, since it kept no checkpoint")
        return errors.make(code, f"the batch run {self.name} did not come to its end: {text}",
                           f"%pounce batch --resume {self.name} runs it again, {kept}.", context)

    def _word_of_end(self, job: int) -> str:
        """Slurm's word, if it killed the program and the script went on to its end. It may come a moment later."""
        until = time.monotonic() + _TELLS_WHY_S
        with contextlib.suppress(errors.NoSlurm, errors.SlurmUnreachable):
            while True:
                word = slurm.state(job)[0].rstrip("+")
                if _OF_SLURM.get(word) != "running" or time.monotonic() >= until:
                    return word
                time.sleep(_LOOK_S)
        return ""

    def _kept(self) -> dict[str, Any]:
        with open(os.open(self._folder.result, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
                text = f"{self._folder.result} is not this user's alone"
                raise errors.ResultGone(text, "Nothing was opened; look who else can write there.")
            kept: dict[str, Any] = pickle.load(file)
        return kept

    def __repr__(self) -> str:
        try:
            now = self.standing()
        except errors.PounceError as error:  # no Slurm, or none that answers
            return f"<pounce.BatchRun {self.name}: job {self.job}, {error.text}; in {self.folder}>"
        job = f", job {now.job}" if now.job else f": sbatch {self.script}"
        word = str(now.word or now.exit_code) if now.state in ("ended", "failed") else now.reason.replace("None", "")
        reported = self.reported
        said = in_words({"status": reported.get("status", ""), **reported.get("numbers", {})})
        reports = _core.printable(f"; reports {said}") if said else ""
        state = f"{now.state} ({word})" if word else now.state
        return f"<pounce.BatchRun {self.name} {state}{job}{reports}; in {self.folder}>"
