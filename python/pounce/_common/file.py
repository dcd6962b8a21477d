"""``File``: a file as an argument. Its content is sent only to a worker that does not see the file itself."""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
import weakref
from typing import IO, Any

from ..errors import BadRequest, FileChanged, FileNotHere, public
from . import here
from .file_part import FilePart, Mapping, is_there, mapped, opened, part_of
from .ref import pickling


@public
class File:
    """A file by its path: pass it as an argument, or use it in a function, and the worker opens the same file.

    It travels as its path with its size, times and a checksum of its head and tail. A worker that does not see that
    file gets a copy of its content, in a folder of its own that is removed after its last use there. Use it for
    reading: a result that others should see needs a path that both sides share.

    Parameters
    ----------
    path : path
        Of an existing regular file. Relative to the notebook's directory.

    Attributes
    ----------
    path : str
        Its absolute path, here or on the worker. ``os.fspath(file)`` is the same, so libraries take a File as a path.
    origin : FilePart or None
        The file's state at its sender, if only the path travelled. None: it was compared on arrival.

    Raises
    ------
    BadRequest
        There is no such file, or it is a folder.
    FileChanged
        Raised by the call that got the file: it changed between the call and its use on the worker, which read nothing.

    Examples
    --------
    >>> with open("numbers.txt", "w") as file:
    ...     print(1, 2, 3, file=file)
    4
    >>> def total(numbers):
    ...     with numbers.open("r") as file:
    ...         return sum(map(int, file.read().split()))
    >>> client.submit(total, pounce.File("numbers.txt")).result()
    6
    """

    __slots__ = ("__weakref__", "origin", "path")

    def __init__(self, path: str | os.PathLike[str]):
        self.path = here.absolute(os.path.expanduser(os.fspath(path)))
        self.origin: FilePart | None = None
        if os.path.isdir(self.path):
            raise BadRequest(f"{self.path} is a folder", "Pass its path as text, or a File for each file in it.")
        if not os.path.isfile(self.path):
            raise BadRequest(f"there is no file {self.path}",
                             "Correct the path; it is relative to the notebook's directory.")

    def open(self, mode: str = "rb", **options: Any) -> IO[Any]:
        """As the built-in ``open``; bytes unless the mode says otherwise.

        Raises
        ------
        FileNotHere
            In a task with a name, and in the notebook: this machine does not see the other side's file.
        FileChanged
            Likewise: the file has changed since.
        """
        if self.origin is not None:
            _check(self.origin)
        return open(self.path, mode, **options)

    def __fspath__(self) -> str:
        if self.origin is not None:
            _check(self.origin)
        return self.path

    def __repr__(self) -> str:
        return f"pounce.File({self.path!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, File) and other.path == self.path

    def __hash__(self) -> int:
        return hash(self.path)

    def __reduce__(self) -> Any:
        view = self._view()
        if pickling.by_file:
            return _from_buffer, (self.path, pickle.PickleBuffer(view))
        return _from_part, (self.path, self.origin or part_of(self.path, 0, "r", view))

    def _view(self) -> Any:
        try:
            file = opened(self.path)
            try:
                length = os.fstat(file).st_size
                return mapped(self.path, file, 0, length, "r") if length else memoryview(b"")
            finally:
                os.close(file)
        except OSError as problem:
            raise FileNotHere(f"{self.path} cannot be opened: {problem.strerror}") from problem


def _from_buffer(path: str, buffer: Any) -> File:
    """On the worker: from the mapping of the same file, or from its content."""
    owner = memoryview(buffer).obj
    if isinstance(owner, Mapping):
        return _from_part(owner.path, None)
    folder = tempfile.mkdtemp(prefix="pounce-file-")
    file = _from_part(os.path.join(folder, os.path.basename(path)), None)
    weakref.finalize(file, shutil.rmtree, folder, ignore_errors=True)
    with open(file.path, "wb") as copy:
        copy.write(buffer)
    return file


def _from_part(path: str, part: FilePart | None) -> File:
    file = File.__new__(File)
    file.path, file.origin = path, part
    return file


def _check(part: FilePart) -> None:
    problem = is_there(part)
    if problem and os.path.exists(part.path):
        raise FileChanged(f"{part.path} {problem}", context={"path": part.path})
    if problem:
        raise FileNotHere(f"{part.path} {problem}", context={"path": part.path}, path=part.path)
