"""Paths of a job's files, with submitit's names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from ..._common import here


class Paths(NamedTuple):
    root: str
    job_id: str

    @property
    def folder(self) -> Path:
        return Path(self.root)

    @property
    def stdout(self) -> Path:
        return self.folder / f"{self.job_id}_0_log.out"

    @property
    def stderr(self) -> Path:
        return self.folder / f"{self.job_id}_0_log.err"


def folder_of(folder: str | os.PathLike[str], job_id: str) -> str:
    """The absolute path; submitit's ``%j`` is the job's id."""
    return here.absolute(os.path.expanduser(os.fspath(folder)).replace("%j", job_id))
