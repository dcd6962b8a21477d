"""The environment of a batch run, as a file that its script reads: what workers would have, without secrets."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from .._common.secrets import is_secret

_OF_THE_JOB = frozenset(("HOME", "USER", "LOGNAME", "SHELL", "TMPDIR"))  # set by Slurm or the node


def recorded(environment: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The variables to write down, and the names of those that are left out because they may be secrets."""
    ours = {name: value for name, value in environment.items() if name.isidentifier() and name not in _OF_THE_JOB}
    secret = sorted(name for name, value in ours.items() if is_secret(name, value))
    return {name: value for name, value in sorted(ours.items()) if name not in secret}, secret


def as_shell(kept: Mapping[str, str], left_out: list[str]) -> str:
    lines = ["# The variables of the notebook's environment."]
    if left_out:
        lines.append("# Not written down, since they may be secrets; "
                     f"sbatch passes on what the shell has: {', '.join(left_out)}")
    return "\n".join([*lines, *(f"export {name}={shlex.quote(value)}" for name, value in kept.items())]) + "\n"
