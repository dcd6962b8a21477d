"""Addresses of MLflow's stores: a database, a folder of files, a server, or a name such as ``databricks``."""

from __future__ import annotations

import ipaddress
import os
from urllib.parse import unquote, urlsplit, urlunsplit

from . import here

_NAMES = ("databricks", "uc", "databricks-uc")


def absolute(uri: str, folder: str = "") -> str:
    """The address as another process needs it, which may have another folder than `folder`; empty: the current one."""
    scheme, slashes, path = uri.partition(":///")
    if slashes and scheme.startswith("sqlite"):
        return f"{scheme}:///{_joined(path, folder)}"
    if uri.startswith("file:") and not uri.startswith("file:/"):
        return f"file://{_joined(uri.removeprefix('file:'), folder)}"
    return uri if ":" in uri or uri in _NAMES else _joined(uri, folder)


def path_of(uri: str) -> str:
    """Of a store in files; empty: it is none."""
    place = absolute(uri)
    if place.startswith("sqlite"):
        return unquote(place.partition(":///")[2])
    if place.startswith("file:"):
        return unquote(urlsplit(place).path)
    return place if os.path.isabs(place) else ""


def without_password(uri: str) -> str:
    parts = urlsplit(uri)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])) if "@" in parts.netloc else uri


def is_this_machines_own(uri: str) -> bool:
    """Whether it is a server's address that no other machine reaches."""
    address = urlsplit(uri)
    if address.scheme not in ("http", "https") or not address.hostname:
        return False
    try:
        host = ipaddress.ip_address(address.hostname)
    except ValueError:
        return address.hostname == "localhost"
    return host.is_loopback or host.is_unspecified


def _joined(path: str, folder: str) -> str:
    return os.path.normpath(path if os.path.isabs(path) else os.path.join(folder or here.folder(), path))
