"""Saved variables of notebooks as a person looks after them: `pouncectl parked`, and the daemon that removes old ones."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest
from daemon_world import Home, wait

DAY_S = 86400
OLD, NEW = "0123456789abcdef", "fedcba9876543210"


def ctl(home: Home, *words: str, code: int = 0, answer: str = "") -> str:
    done = home.run("pouncectl", "parked", *words, input=answer)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout


def save(root: Path, name: str, age_s: float = 0, variables: tuple[str, ...] = ("model",), **about) -> Path:
    """As a kernel and a worker leave it."""
    state = root / name
    state.mkdir(mode=0o700)
    files = {"about.json": json.dumps({"notebook": "/home/alice/fit.ipynb", "host": "login", "python": "3.11.2"} | about), "owner-1": "", "a" * 64: "x" * 1000,
             "manifest-1.json": json.dumps({"format": 1, "cell": 7, "unparkable": {"conn": "a socket"}, "units": [{"names": list(variables)}]})}
    for file, content in files.items():
        (state / file).touch(mode=0o600)
        (state / file).write_text(content)
        os.utime(state / file, (time.time() - age_s,) * 2)
    return state


@pytest.fixture
def root(home) -> Path:
    """Of no daemon: none has run."""
    root = Path(json.loads(home.run("pounced", "where").stdout)["parked"])
    root.mkdir(parents=True, mode=0o700)
    (root / "key").write_bytes(b"k" * 32)
    return root


def test_where_nothing_was_ever_saved_it_says_so(home):
    assert ctl(home, "list") == "no notebook has saved variables here\n"
    assert json.loads(ctl(home, "list", "--json")) == {"parked": []}
    assert ctl(home, "rm", "--all") == "there is nothing to remove\n"
    assert home.daemons() == []


def test_list_shows_what_is_saved_the_newest_first(home, root):
    save(root, OLD, 3 * DAY_S, ("history", "model", "_1"))
    save(root, NEW, 120)

    head, newest, oldest, total = ctl(home, "list").splitlines()

    assert head.split("  ")[0] == "ID"
    assert newest.startswith("fedcba98  fit.ipynb  1.2 kB  7           2 min ago  model")
    assert "3 d ago" in oldest and oldest.endswith("history, model")
    assert total == "2 saved states, 2.4 kB"
    first, second = json.loads(ctl(home, "list", "--json"))["parked"]
    assert (first["id"], first["notebook"], first["cell"], first["not_saved"], first["problem"]) == (NEW, "/home/alice/fit.ipynb", 7, ["conn"], "")
    assert second["variables"] == ["history", "model"] and abs(second["saved_s"] - (time.time() - 3 * DAY_S)) < 60
    assert home.daemons() == []


def test_what_cannot_be_read_is_listed_with_the_reason_and_can_be_removed(home, root):
    (save(root, OLD) / "manifest-1.json").write_text('{"format": 1, "un')
    save(root, NEW, notebook="\x1b[2Jhidden")
    (root / "1111111111111111").symlink_to(root / NEW)

    text = ctl(home, "list")

    assert "the list of what was saved is cut off or was changed" in text
    assert "1111111111111111 is a link, or no folder" in text
    assert "\x1b" not in text
    ctl(home, "rm", OLD[:4], "--yes")
    assert not (root / OLD).exists() and (root / NEW).exists()


def test_rm_asks_first_and_leaves_all_where_nobody_says_yes(home, root):
    save(root, OLD)
    for answer in ("n\n", "", "yesterday\n"):
        ctl(home, "rm", OLD, code=1, answer=answer)
        assert (root / OLD / "manifest-1.json").exists()

    assert ctl(home, "rm", OLD, answer="y\n") == f"{OLD[:8]}  removed\n"

    assert [entry.name for entry in root.iterdir()] == ["key"]


def test_rm_takes_those_not_used_for_so_long(home, root):
    save(root, OLD, 8 * DAY_S)
    save(root, NEW, 6 * DAY_S)

    done = json.loads(ctl(home, "rm", "--older", "7d", "--yes", "--json"))

    assert done == {"removed": [OLD], "failed": []}
    assert (root / NEW / "manifest-1.json").exists()


def test_rm_says_what_it_could_not_remove_and_goes_on(home, root):
    other = save(root, NEW)
    (root / OLD).symlink_to(other)

    done = json.loads(ctl(home, "rm", "--all", "--yes", "--json", code=1))

    assert done["removed"] == [NEW] and done["failed"][0]["id"] == OLD
    assert "is a link" in done["failed"][0]["error"]["text"]


def test_an_id_that_nothing_has_is_an_error_with_those_there_are(home, root):
    save(root, OLD)
    told = json.loads(ctl(home, "rm", "77", "--json", code=1))["error"]
    assert told["text"] == 'no saved state\'s id begins with "77"' and OLD[:8] in told["remedy"]


@pytest.mark.parametrize("words", [(), ("rm",), ("rm", OLD, "--all"), ("rm", "--older", "soon"), ("list", OLD)])
def test_wrong_usage_is_told(home, words):
    ctl(home, *words, code=2)


@pytest.mark.parametrize("words", [("--help",), ("list", "--help"), ("rm", "--help")])
def test_help_has_examples(home, words):
    assert "pouncectl parked rm --older 7d" in ctl(home, *words)


# ---- the daemon ----


def test_a_daemon_that_starts_removes_what_nobody_used_for_long(make_home):
    home = make_home(parked_keep_s=7 * DAY_S)
    root = Path(json.loads(home.run("pounced", "where").stdout)["parked"])
    root.mkdir(parents=True, mode=0o700)
    (root / "key").write_bytes(b"k" * 32)
    save(root, OLD, 8 * DAY_S)
    save(root, NEW, 6 * DAY_S)

    endpoint = home.ensure()

    wait(lambda: sorted(entry.name for entry in root.iterdir()) == [NEW, "key"], "the old one's removal")
    assert endpoint["parked"] == str(root) and endpoint["parked_most_mib"] == 0
    assert f"saved variables {OLD}, not used for 8 days: removed" in Path(endpoint["log"]).read_text()
    home.end_daemon(endpoint["pid"], signal.SIGTERM)


def test_the_endpoint_tells_how_much_may_be_saved(make_home):
    assert make_home(parked_most_mib=512).ensure()["parked_most_mib"] == 512
