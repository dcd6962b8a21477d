"""Other people's files and sockets, as any program may try them. An OSError is the answer."""

from __future__ import annotations

import os
import socket
import stat


def read(request: dict) -> dict:
    with open(request["path"], "rb") as file:
        return {"read": file.read(request.get("most", 1 << 16)).hex()}


def write(request: dict) -> dict:
    descriptor = os.open(request["path"], os.O_WRONLY | request.get("flags", 0), 0o666)
    try:
        return {"written": os.write(descriptor, request.get("text", "x").encode())}
    finally:
        os.close(descriptor)


def make(request: dict) -> dict:
    """path, kind, [to]: a file, folder, link, hard link, FIFO or socket of one's own there, open to all."""
    path, kind = request["path"], request["kind"]
    if kind == "link":
        os.symlink(request["to"], path)
    elif kind == "hard link":
        os.link(request["to"], path)
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        os.mkdir(path)
    elif kind == "device":
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    else:
        with open(path, "x") as file:
            file.write(request.get("text", ""))
    if kind != "link" and kind != "hard link":
        os.chmod(path, 0o777)
    return {"made": path}


def listed(request: dict) -> dict:
    return {"listed": os.listdir(request["path"])}


def remove(request: dict) -> dict:
    os.rename(request["path"], request["path"] + ".gone")
    return {"removed": request["path"]}


def enter(request: dict) -> dict:
    with socket.socket(socket.AF_UNIX) as unix:
        unix.connect(request["unix"])
    return {"entered": True}


def abstract(request: dict) -> dict:
    """Unix sockets without a file, which have no owner: those with one of the words in their name."""
    with open("/proc/net/unix") as file:
        names = [line.split()[-1] for line in file if line.split()[-1].startswith("@")]
    return {"abstract": [name for name in names if any(word in name for word in request["words"])]}


REQUESTS = {"read": read, "write": write, "make": make, "listed": listed, "remove": remove, "enter": enter, "abstract": abstract}
