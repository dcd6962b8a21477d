"""Who follows a task's log sees each line once, although the file is shortened under his eyes."""

from __future__ import annotations

import os

import pytest
from pounce import _core
from pounce._engine import task_log
from pounce._engine.result_relay import _Log
from pounce._engine.task_log import TaskLog

LINE = b"x" * 1023 + b"\n"


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "log")


def prints(path, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    _core.append_to_log(fd, data)
    os.close(fd)


def test_what_was_printed_since_is_shown_once(path):
    log = TaskLog(path)
    assert log.unread() == b""  # no file yet

    prints(path, b"one\n")
    assert log.unread() == b"one\n"
    prints(path, b"two\n")
    assert (log.unread(), log.unread(), log.whole()) == (b"two\n", b"", b"one\ntwo\n")


def test_a_follower_sees_every_line_once_over_several_shortenings(path):
    log, printed, shown = TaskLog(path), bytearray(), bytearray()
    for number in range(20 * 1024):
        line = b"%7d %s\n" % (number, b"x" * 1015)
        prints(path, line)
        printed += line
        if number % 400 == 0:
            shown += log.unread()
    shown += log.unread()

    same = shown == printed  # not in the assertion, which would show 20 MB of difference
    assert same
    assert log.whole().startswith(b"pounce: removed_bytes=") and os.path.getsize(path) <= _core.LOG_BYTES


def test_what_was_removed_before_anybody_looked_is_said_and_the_rest_is_shown(path):
    log = TaskLog(path)
    prints(path, b"first\n")
    log.unread()
    prints(path, LINE * (_core.LOG_BYTES // len(LINE)))
    prints(path, b"last\n")

    first_line, *rest = log.unread().splitlines(keepends=True)

    removed = int(first_line.split(b"=")[1].split(b";")[0])
    assert removed + len(b"".join(rest)) == len(b"first\n") + _core.LOG_BYTES + len(b"last\n")
    assert rest[-1] == b"last\n" and log.unread() == b""


def test_a_later_follower_is_shown_what_comes_from_now_on(path):
    prints(path, b"before\n")
    log = TaskLog(path)
    log.unread()
    prints(path, b"after\n")

    assert log.unread() == b"after\n"


def test_of_a_file_longer_than_any_log_only_the_end_is_read(path):
    with open(path, "wb") as file:
        file.truncate(1 << 40)
        file.seek(0, os.SEEK_END)
        file.write(b"the end\n")
    log = TaskLog(path)

    for data in (log.whole(), log.unread()):
        assert len(data) == task_log._MOST and data.endswith(b"the end\n")
    assert log.unread() == b""


def test_what_a_relay_writes_is_bounded_as_well(path):
    log = _Log(path)
    for _ in range(2 * _core.LOG_BYTES // (256 * len(LINE))):
        log.printed(False, LINE * 256)

    assert os.path.getsize(path) <= _core.LOG_BYTES
