"""To which project a job belongs by a site's rule: its account, its wckey, or a table of accounts, wckeys and users."""

from __future__ import annotations

from pathlib import Path

from ..errors import BadRequest
from .tally import Project

_KINDS = ("user", "wckey", "account")  # in this order: the first that the table has decides


def project_rule(rule: str) -> Project:
    """rule: "account", "wckey", or the path of a table. Each line of it: `account|wckey|user NAME PROJECT`, with # for
    comments. A job that the table does not name belongs to the project of its account's name."""
    if rule in ("", "account"):
        return lambda account, wckey, user: account
    if rule == "wckey":
        return lambda account, wckey, user: wckey.lstrip("*")  # Slurm marks a default one with a star
    table = _table(Path(rule))
    return lambda account, wckey, user: next(
        (table[kind, name] for kind, name in zip(_KINDS, (user, wckey.lstrip("*"), account), strict=True)
         if (kind, name) in table), account)


def _table(path: Path) -> dict[tuple[str, str], str]:
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"the table of projects {path} cannot be read: {error}",
                         "Name account, wckey, or a file that has lines such as: account ml vision") from None
    table = {}
    for number, line in enumerate(lines, 1):
        words = line.split("#")[0].split(None, 2)
        if not words:
            continue
        if len(words) != 3 or words[0] not in _KINDS:
            raise BadRequest(f"line {number} of {path} is not of a table of projects: {line.strip()!r}",
                             "Write account, wckey or user, a name, and the project: account ml vision")
        table[words[0], words[1]] = words[2].strip()
    return table
