"""Files of a job at a place of the user's choice: its output, and its script under the name ``sbatch-script-file``."""

from __future__ import annotations

import os
from pathlib import Path

from .._batch.job_lines import quoted
from .._batch.run_folder import home
from .._common import here
from ..errors import BadRequest


def output_line(output: str) -> tuple[str, ...]:
    """For sbatch, which would take a relative path from the job's folder, not from the one where mlflow runs."""
    if not output:
        return ()
    path = here.absolute(os.path.expanduser(output))
    folder = os.path.dirname(path)
    if "%" not in folder and not os.path.isdir(folder):
        raise BadRequest(f'the key "output": there is no folder {folder}',
                         "Make it: Slurm makes none, and would end the job without a word.")
    return (f"#SBATCH --output={quoted(path)}",)


def check(name: str) -> None:
    """Refuses to replace a file that is not the link of an earlier run."""
    link = _path(name)
    if name and os.path.lexists(link) and not (link.is_symlink() and _is_ours(link)):
        raise BadRequest(f'the key "sbatch-script-file": {link} is there, and pounce has not made it',
                         "Move it away, or name another file.")
    if name and not link.parent.is_dir():
        raise BadRequest(f'the key "sbatch-script-file": there is no folder {link.parent}', "Make it first.")


def made(name: str, script: Path) -> Path | None:
    """A link to the script, which can be read and given to sbatch; None: no name."""
    if not name:
        return None
    link = _path(name)
    temporary = link.with_name(f".{link.name}.{os.getpid()}")
    temporary.symlink_to(script)
    temporary.replace(link)
    return link


def _path(name: str) -> Path:
    return Path(here.absolute(os.path.expanduser(name)))


def _is_ours(link: Path) -> bool:
    target = Path(os.readlink(link))
    return target.suffix == ".sbatch" and target.is_relative_to(home())
