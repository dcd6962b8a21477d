"""``%pip`` and similar commands in a remote cell: where packages go, and what makes them visible."""

from __future__ import annotations

import importlib
import os
import re
import site
import sys
import sysconfig

_INSTALLS = re.compile(r"^\s*[%!]\s*((\S*python\S*|\{sys\.executable\})\s+-m\s+)?(pip3?|conda|mamba|uv)\b",
                       re.MULTILINE)


def installs(source: str) -> bool:
    """Whether a cell calls a package manager."""
    return _INSTALLS.search(source) is not None


def note() -> str:
    """One line for the user, after the package manager's output. The new packages can be imported from now on."""
    importlib.invalidate_caches()
    imported = "what this worker had imported before is new after %pounce restart"
    if os.access(sysconfig.get_path("purelib"), os.W_OK):
        return f"packages are in {sys.prefix}, for the notebook and its workers; {imported}"
    pip = os.path.expanduser("~/envs/mine/bin/pip")
    own = (f"python -m venv --system-site-packages ~/envs/mine, then {pip} install …, "
           "and the line %%pounce --env ~/envs/mine")
    if site.ENABLE_USER_SITE:
        where = f"packages are in {site.getusersitepackages()}, since {sys.prefix} cannot be written"
        return f"{where}; {imported}. An environment of your own: {own}"
    return f"{sys.prefix} cannot be written. An environment of your own: {own}"
