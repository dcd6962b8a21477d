"""Where a project's files come from: a folder is used as it lies there, a git repository is cloned at one commit."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from .._batch.run_folder import home
from ..errors import BadRequest

_REMOTE = re.compile(r"(git\+)?(https?|ssh|git)://|[\w.-]+@[\w.-]+:")
_CLONE = "source"  # the folder of the clone in the run's folder


@dataclass(frozen=True)
class Source:
    uri: str            # as MLflow's run shows it, without a password
    folder: Path        # of the MLproject
    clone: Path | None  # the repository's own folder, if it was cloned
    commit: str = ""

    @property
    def name(self) -> str:
        """Of a project that says none: its folder's, or its repository's. The folder of a clone has a number."""
        if self.clone is None or self.folder != self.clone:
            return self.folder.name
        return self.uri.partition("#")[0].rstrip("/").rpartition("/")[2].rpartition(":")[2].removesuffix(".git")

    def moved_into(self, folder: Path) -> Path:
        """Where its project is once the run has its folder."""
        if self.clone is None:
            return self.folder
        shutil.move(self.clone, folder / _CLONE)
        return folder / _CLONE / self.folder.relative_to(self.clone)


@contextlib.contextmanager
def fetched(uri: str, version: str | None) -> Iterator[Source]:
    """The project of `uri`: a folder, or a repository with `#` and a folder in it, at the commit, tag or branch
    `version`. A clone that was not moved is removed at the end. Blocks for git.

    Raises
    ------
    BadRequest
        There is no such folder, repository or version.
    """
    address, _, below = uri.strip("'\"").partition("#")
    path = Path(os.path.abspath(os.path.expanduser(urlsplit(address).path if _is_file(address) else address)))
    if not _REMOTE.match(address) and not path.exists():
        raise BadRequest(f"there is no project at {address}", "Name a folder with an MLproject, or a git repository.")
    if not (_REMOTE.match(address) or version or _is_bare(path)):
        yield Source(uri, _inside(path, below), None)
        return
    if not (_REMOTE.match(address) or _is_bare(path) or (path / ".git").exists()):
        raise BadRequest(f"{path} is no git repository, so it has no version {version}",
                         "Leave -v out, or name the repository, with # and the folder in it.")
    # On the file system of the run's folder, since nodes see that.
    home().mkdir(mode=0o700, exist_ok=True)
    clone = Path(tempfile.mkdtemp(prefix=".clone-", dir=home()))
    try:
        commit = _cloned(address if _REMOTE.match(address) else str(path), version, clone)
        yield Source(_without_password(uri), _inside(clone, below), clone, commit)
    finally:
        shutil.rmtree(clone, ignore_errors=True)


def _is_file(address: str) -> bool:
    return address.startswith("file://")


def _is_bare(path: Path) -> bool:
    return (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()


def _inside(folder: Path, below: str) -> Path:
    inside = (folder / below).resolve()
    if not inside.is_dir() or not inside.is_relative_to(folder.resolve()):
        raise BadRequest(f"there is no folder {below or '.'} in {folder}", "Name a folder of the project behind the #.")
    return folder / below


def _cloned(address: str, version: str | None, folder: Path) -> str:
    address = address.removeprefix("git+")
    _git(folder, "clone", "--quiet", "--no-checkout", "--", address, ".")
    commit = _commit_of(folder, version) or _fetched_commit(folder, version)
    if not commit:
        raise BadRequest(f"{_without_password(address)} has no commit, tag or branch {version or 'HEAD'}",
                         "Name one that is there with -v.")
    _git(folder, "checkout", "--quiet", "--detach", commit)
    _git(folder, "submodule", "--quiet", "update", "--init", "--recursive")
    return commit


def _commit_of(folder: Path, version: str | None) -> str:
    for name in (f"refs/remotes/origin/{version}", f"refs/tags/{version}", version) if version else ("HEAD",):
        words = ["git", "rev-parse", "--quiet", "--verify", f"{name}^{{commit}}"]
        found = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.strip()
    return ""


def _fetched_commit(folder: Path, version: str | None) -> str:
    """Of one that no branch has any more, if the server gives it."""
    if version is None or version.startswith("-"):
        return ""
    try:
        _git(folder, "fetch", "--quiet", "origin", version)
    except BadRequest:
        return ""
    return _commit_of(folder, "FETCH_HEAD")


def _git(folder: Path, *words: str) -> None:
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(["git", *words], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
    except FileNotFoundError:
        raise BadRequest("there is no git here", "Clone the project, and name its folder.") from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise BadRequest(f"git {words[0]} failed: {_without_password(said[-1])}",
                         "See whether git clone of the same address works in a terminal.")


def _without_password(uri: str) -> str:
    """Such an address is shown and logged."""
    return re.sub(r"://[^/@\s]*@", "://", uri)
