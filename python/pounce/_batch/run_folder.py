"""The folder of a batch run: everything that it needs and everything that comes of it, found again by its name."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
from pathlib import Path
from typing import Any

from .. import errors
from .._common import here
from .._engine.options import name_of_task

HOME = "pounce-batch"  # below the user's home: it has each run under its name, or a link to it


class RunFolder:
    """Thread: any; blocks as the file system does."""

    def __init__(self, name: str, path: Path):
        self.name, self.path = name, path

    @property
    def script(self) -> Path:
        return self.path / f"{self.name}.sbatch"

    @property
    def log(self) -> Path:
        return self.path / "job.log"

    @property
    def executed(self) -> Path:
        return self.path / "executed.ipynb"

    @property
    def result(self) -> Path:
        return self.path / "result.pickle"

    def job(self) -> int:
        """The last one that ran it or waits to, 0: none."""
        lines = self._lines("jobs")
        return int(lines[-1]) if lines and lines[-1].isdigit() else 0

    def add_job(self, job: int) -> None:
        with (self.path / "jobs").open("a", encoding="ascii") as file:
            file.write(f"{job}\n")

    def ended(self) -> tuple[int, int] | None:
        """Which job has come to the script's end, with which exit code."""
        lines = self._lines("ended")
        words = lines[0].split() if lines else []
        return (int(words[0]), int(words[1])) if len(words) >= 2 and words[0].isdigit() and words[1].isdigit() else None

    def reported(self) -> dict[str, Any]:
        """The newest of its programs' reports."""
        with contextlib.suppress(OSError, ValueError):
            facts = json.loads((self.path / "reports.json").read_bytes())
            return facts if isinstance(facts, dict) else {}
        return {}

    def look_again(self) -> None:
        """A file that was not there stays so for up to a minute on NFS, unless this machine changes the folder."""
        with contextlib.suppress(OSError):
            looked = self.path / f"looked.{os.getpid()}"
            looked.touch(mode=0o600)
            looked.unlink()

    def secrets(self) -> list[str]:
        """Names of variables that its program reads from a file of this user's, and that Slurm must not be given."""
        try:
            names: list[str] = json.loads((self.path / "project.json").read_text())["secrets"]
        except OSError:
            return []
        return names

    def write(self, file: str, text: str | bytes) -> None:
        data = text.encode() if isinstance(text, str) else text
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        with open(os.open(self.path / file, flags, 0o600), "wb") as opened:
            opened.write(data)

    def remove(self) -> None:
        link = home() / self.name
        if link.is_symlink():
            link.unlink()
        shutil.rmtree(self.path)

    def _lines(self, file: str) -> list[str]:
        try:
            return (self.path / file).read_text().splitlines()
        except OSError:
            return []


def home() -> Path:
    return Path.home() / HOME


def names() -> list[str]:
    with contextlib.suppress(OSError):
        return sorted(entry.name for entry in home().iterdir() if RunFolder(entry.name, entry).script.is_file())
    return []


def made(name: str, parent: str = "", is_chosen: bool = True) -> RunFolder:
    """A new folder below `parent`, or below home(). If the user did not choose the name, it gets a free one like it.

    Raises
    ------
    NameTaken
        There is a run of that name.
    DaemonUnavailable
        It cannot be written there.
    """
    name = name_of_task(name)
    try:
        _own(home())
        numbered = (name[:58] + (f"-{number}" if number > 1 else "") for number in range(1, 10_000))
        for free in [name] if is_chosen else numbered:
            if _make(free, parent):
                return RunFolder(free, (_absolute(parent) if parent else home()) / free)
    except OSError as problem:
        text = f"{problem.filename or home()} cannot be written: {problem.strerror}"
        raise errors.DaemonUnavailable(text, "Make room there, or name another with --folder.") from None
    raise _taken(name, _absolute(parent) / name if parent else home() / name)


def _taken(name: str, folder: Path) -> errors.NameTaken:
    there = home() / name
    if RunFolder(name, there).script.is_file():
        remedy = f"%pounce batch --resume {name} goes on with it; or use another --name."
        return errors.NameTaken(f"there is a batch run {name}: {there}", remedy)
    in_the_way = there if os.path.lexists(there) else folder
    return errors.NameTaken(f"{in_the_way} is there, and is no batch run: it has no {name}.sbatch",
                            "Remove it, or use another --name.")


def _make(name: str, parent: str) -> bool:
    """False: the name is taken."""
    link = home() / name
    if link.is_symlink() and not link.exists():
        link.unlink()  # to a run elsewhere, whose folder was removed
    if os.path.lexists(link):
        return False
    folder = _absolute(parent) / name if parent else link
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir(mode=0o700)
        if folder != link:
            link.symlink_to(folder)
    except FileExistsError:
        return False
    return True


def _absolute(parent: str) -> Path:
    return Path(here.absolute(os.path.expanduser(parent)))


def _own(folder: Path) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)


def found(name: str) -> RunFolder:
    """The folder of the run of that name, whichever kernel made it.

    Raises
    ------
    NoSuchName
        Lists the names that there are.
    ResultGone
        Others could have written to it.
    """
    path = home() / name_of_task(name)
    if not RunFolder(name, path).script.is_file():
        raise errors.NoSuchName(f"there is no batch run {name}; there are: {', '.join(names()) or 'none'}")
    path = path.resolve()
    facts = path.stat()
    if facts.st_uid != os.geteuid() or stat.S_IMODE(facts.st_mode) & 0o022:
        raise errors.ResultGone(f"{path} is not this user's alone",
                                "Nothing was opened; look who else can write there.")
    return RunFolder(name, path)
