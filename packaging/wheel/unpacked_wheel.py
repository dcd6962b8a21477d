"""A wheel, changed: taken apart, and put together with a RECORD that is true again (the format is PyPA's "binary distribution format")."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

_EARLIEST = (1980, 1, 1, 0, 0, 0)  # a zip file knows no earlier one; always the same, so that a build can be repeated


def rewritten(wheel: Path, folder: Path, change: Callable[[Path], None]) -> Path:
    """The wheel as ``change`` makes it of its unpacked files, in ``folder``, with its name."""
    with tempfile.TemporaryDirectory() as unpacked:
        root = Path(unpacked)
        _unpack(wheel, root)
        change(root)
        (record,) = root.glob("*.dist-info/RECORD")
        record.write_text(_record_of(root, record))
        return _pack(root, folder / wheel.name)


def _unpack(wheel: Path, root: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            path = Path(archive.extract(member, root))
            if mode := member.external_attr >> 16:
                path.chmod(mode & 0o777)


def _files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file())


def _record_of(root: Path, record: Path) -> str:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    for path in _files(root):
        name = path.relative_to(root).as_posix()
        if path == record:
            rows.writerow((name, "", ""))
            continue
        digest = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).rstrip(b"=").decode()
        rows.writerow((name, f"sha256={digest}", path.stat().st_size))
    return text.getvalue()


def _pack(root: Path, wheel: Path) -> Path:
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in _files(root):
            member = zipfile.ZipInfo(path.relative_to(root).as_posix(), _EARLIEST)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = (0o100000 | path.stat().st_mode & 0o777) << 16
            archive.writestr(member, path.read_bytes())
    return wheel
