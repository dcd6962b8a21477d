"""The store of a site's past: one SQLite file with a row for each run of a job and sums by day, node and hour.

The file belongs to whom collects (mode 0600, or 0640 for a group of operators); everybody else asks Slurm, which knows
what they may see. It is written in one transaction for each window of time that was read, so that an interruption
loses nothing that was kept, and it is in WAL mode, so that reports can be made meanwhile.
"""

from __future__ import annotations

import contextlib
import dataclasses
import grp
import hashlib
import os
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..errors import BadRequest, PounceError, VersionMismatch
from .spans import Calendar
from .tally import SUMS

VERSION = 1
SYSTEM_FOLDER = Path("/var/lib/pounce/usage")
FORGOTTEN = "(forgotten)"

# rollup: its columns; the first is the beginning of a local day, month or hour, the others are ids of words
_BY_USER = ("time", "class", "user", "account", "wckey", "mode", "partition", "gpu")
_BY_NODE = ("time", "class", "node", "mode", "partition", "gpu")
ROLLUPS = {
    "day_use": _BY_USER,
    "month_use": _BY_USER,
    "node_day_use": _BY_NODE,
    "node_month_use": _BY_NODE,
    "hour_use": ("time", "class", "mode", "partition", "gpu"),
}

# The columns of a job, and which of them are ids of words.
COLUMNS = ("cluster", "job", "submit_s", "eligible_s", "start_s", "end_s", "until_s", "suspended_s", "limit_s", "gpus",
           "cpus", "node_count", "gpus_requested", "cpus_requested", "memory_mib", "busy_s", "idle_s",
           "gpu_use_permille", "gpu_memory_mib", "memory_peak_mib", "cpu_used_s", "energy_j", "exit_code",
           "exit_signal", "array_job", "het_job", "lost", "seen_s", "user", "account", "wckey", "class", "partition",
           "mode", "gpu", "state", "nodes", "name", "submit_line", "array_tasks", "lease")
WORDS = ("user", "account", "wckey", "class", "partition", "mode", "gpu", "state", "nodes")
_TEXTS = ("name", "submit_line", "array_tasks", "lease")


def _schema() -> str:
    columns = ", ".join(f"{name} {'TEXT' if name in _TEXTS else 'INTEGER'} NOT NULL" for name in COLUMNS)
    sums = ", ".join(f"{name} INTEGER NOT NULL" for name in SUMS)
    rollups = "".join(
        f"CREATE TABLE {table} (cluster INTEGER NOT NULL, {', '.join(f'{name} INTEGER NOT NULL' for name in keys)}, "
        f"{sums}, PRIMARY KEY (cluster, {', '.join(keys)})) WITHOUT ROWID;\n" for table, keys in ROLLUPS.items())
    return f"""
CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE word (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE cluster (name INTEGER PRIMARY KEY, begin_s INTEGER NOT NULL, until_s INTEGER NOT NULL,
                      counts_gpus INTEGER NOT NULL, counts_gpu_use INTEGER NOT NULL, longest_s INTEGER NOT NULL,
                      floor_s INTEGER NOT NULL);
CREATE TABLE job ({columns}, PRIMARY KEY (cluster, job, submit_s)) WITHOUT ROWID;
CREATE INDEX job_held ON job (cluster, start_s, until_s);
CREATE INDEX job_open ON job (cluster, seen_s) WHERE end_s = 0;
CREATE TABLE forgotten (digest TEXT PRIMARY KEY) WITHOUT ROWID;
{rollups}PRAGMA user_version = {VERSION};
"""


@dataclasses.dataclass
class Kept:
    """What the store has of a cluster: everything that jobs held between `begin_s` and `until_s`."""

    cluster: str
    begin_s: int
    until_s: int
    counts_gpus: bool
    counts_gpu_use: bool
    longest_s: int = 0  # of the jobs in it
    floor_s: int = 0  # what was held before has been dropped for good (--keep)


def not_kept(kept: Kept | None, from_s: int, to_s: int) -> list[tuple[int, int]]:
    """What of [from_s, to_s) a store does not have: at most a part before and one behind. None: it has nothing."""
    parts = [(from_s, to_s)] if kept is None else [(from_s, min(to_s, kept.begin_s)), (max(from_s, kept.until_s), to_s)]
    return [(begin, end) for begin, end in parts if begin < end]


def default_place(to_write: bool = False) -> Path | None:
    """The site's store for root and for whom may read it, else this user's own; None: there is neither. To write: where
    this user's collector keeps it."""
    named = os.environ.get("POUNCE_USAGE_STORE", "")
    system = SYSTEM_FOLDER / "usage.sqlite"
    state = Path(os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state"))
    own = state / "pounce" / "usage" / "usage.sqlite"
    if to_write:
        return Path(named) if named else system if os.geteuid() == 0 else own
    places = [Path(named)] if named else [system, own]
    return next((place for place in places if os.access(place, os.R_OK)), None)


def create(place: Path, zone: str, group: str = "") -> Store:
    """Opens the store for writing, and makes it where there is none."""
    try:
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        if group:
            _open_to(place, group)
    except OSError as error:
        raise PounceError(f"the store {place} cannot be written: {error.strerror}",
                          "Name another with --store, or run it as the user whose store it is.") from None
    with told(place):
        connection = sqlite3.connect(place, timeout=60, isolation_level=None)
        connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON;")
        connection.execute("PRAGMA cache_size = -32768")
        store = Store(place, connection)
        if store.version == 0:
            with store.transaction():
                for statement in filter(str.strip, _schema().split(";\n")):
                    connection.execute(statement)
                store.set("zone", zone)
                store.set("salt", os.urandom(16).hex())
    store.check_version()
    return store


def _open_to(place: Path, group: str) -> None:
    try:
        number = grp.getgrnam(group).gr_gid
    except KeyError:
        raise BadRequest(f"there is no group {group!r}", "Name a group that operators are in.") from None
    for path, mode in ((place.parent, 0o750), (place, 0o640)):
        os.chown(path, -1, number)
        os.chmod(path, mode)


def open_store(place: Path) -> Store:
    """Opens it for reading. Where its folder is closed to this user SQLite cannot make the files that share a store in
    WAL mode; without a collector at work it needs none."""
    if not place.exists():
        raise BadRequest(f"there is no store {place}", "`pouncectl usage collect` makes one.")
    with told(place):
        try:
            connection = sqlite3.connect(f"file:{_quoted(place)}?mode=ro", uri=True, timeout=60, isolation_level=None)
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            connection = sqlite3.connect(f"file:{_quoted(place)}?mode=ro&immutable=1", uri=True, isolation_level=None)
        connection.execute("PRAGMA query_only = ON")
        store = Store(place, connection)
        if store.version == 0:
            raise BadRequest(f"{place} is no store of pounce's usage, or an empty one",
                             "`pouncectl usage collect` makes one.")
    store.check_version()
    return store


def _quoted(place: Path) -> str:
    return str(place).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


@contextlib.contextmanager
def told(place: Path) -> Iterator[None]:
    """SQLite's errors as sentences."""
    try:
        yield
    except sqlite3.Error as error:
        words = str(error)
        if "is full" in words:
            raise PounceError(f"the disk of {place} is full",
                              "Make room and run it again: what was collected until now is kept.") from None
        if "locked" in words:
            raise PounceError(f"another process has been writing to {place} for a minute", "Run it again.") from None
        if "malformed" in words or "not a database" in words:
            raise PounceError(f"{place} is damaged, or no store: {words}",
                              "Move it away; `pouncectl usage collect` makes a new one from Slurm's accounting.") \
                from None
        raise PounceError(f"the store {place} failed: {words}",
                          "See whether its disk has room and lets this user write.") from None


class Store:
    """An open store. Not for several threads. Use `told` around what calls its methods."""

    def __init__(self, place: Path, connection: sqlite3.Connection):
        self.place, self.connection = place, connection
        self._ids: dict[str, int] = {}

    def close(self) -> None:
        self.connection.close()

    @property
    def version(self) -> int:
        return int(self.connection.execute("PRAGMA user_version").fetchone()[0])

    def check_version(self) -> None:
        if self.version > VERSION:
            version = self.version
            self.close()
            raise VersionMismatch(f"{self.place} was written by a later pounce: its version is {version}, and this "
                                  f"one reads {VERSION}", "Update pounce here, or name another store with --store.")

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._ids.clear()  # words of a transaction that never was have no ids
            with contextlib.suppress(sqlite3.Error):  # a full disk has rolled it back already
                self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    # ---- settings and words ----------------------------------------------------------------------------------------

    def setting(self, name: str) -> str:
        row = self.connection.execute("SELECT value FROM setting WHERE name = ?", (name,)).fetchone()
        return row[0] if row else ""

    def set(self, name: str, value: str) -> None:
        self.connection.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (name, value))

    def calendar(self) -> Calendar:
        return Calendar(self.setting("zone") or "UTC")

    def word(self, text: str) -> int:
        """The id of a text, which is kept once."""
        number = self._ids.get(text)
        if number is not None:
            return number
        row = self.connection.execute("SELECT id FROM word WHERE text = ?", (text,)).fetchone()
        number = row[0] if row else self.connection.execute("INSERT INTO word (text) VALUES (?)", (text,)).lastrowid
        if len(self._ids) > 100_000:
            self._ids.clear()
        self._ids[text] = int(number or 0)
        return self._ids[text]

    def id_of(self, text: str) -> int:
        """As `word`, without making one: 0 for a text that the store does not have."""
        row = self.connection.execute("SELECT id FROM word WHERE text = ?", (text,)).fetchone()
        return row[0] if row else 0

    def text(self, number: int) -> str:
        row = self.connection.execute("SELECT text FROM word WHERE id = ?", (number,)).fetchone()
        return row[0] if row else ""

    # ---- what is kept ----------------------------------------------------------------------------------------------

    def kept(self, cluster: str = "") -> Kept | None:
        """Of that cluster, or of the one that was collected last."""
        rows = self.connection.execute(
            "SELECT word.text, begin_s, until_s, counts_gpus, counts_gpu_use, longest_s, floor_s FROM cluster "
            "JOIN word ON word.id = cluster.name WHERE ? IN ('', word.text) ORDER BY until_s DESC", (cluster,))
        row = rows.fetchone()
        return Kept(row[0], row[1], row[2], bool(row[3]), bool(row[4]), *row[5:]) if row else None

    def keep(self, kept: Kept) -> None:
        """Another collector may have been at work: what it has learnt of the longest job is not lost."""
        self.connection.execute(
            "INSERT INTO cluster VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET begin_s = "
            "excluded.begin_s, until_s = excluded.until_s, counts_gpus = excluded.counts_gpus, counts_gpu_use = "
            "excluded.counts_gpu_use, longest_s = max(longest_s, excluded.longest_s), "
            "floor_s = max(floor_s, excluded.floor_s)",
            (self.word(kept.cluster), kept.begin_s, kept.until_s, kept.counts_gpus, kept.counts_gpu_use,
             kept.longest_s, kept.floor_s))

    def add_to_rollup(self, table: str, rows: Iterable[tuple[int, ...]]) -> None:
        """Each row: the cluster, the table's keys, and what is added to its sums, which may be negative. A row of sums
        without a job goes."""
        rows = list(rows)
        keys = ("cluster", *ROLLUPS[table])
        marks = ", ".join("?" * (len(keys) + len(SUMS)))
        added = ", ".join(f"{name} = {name} + excluded.{name}" for name in SUMS)
        self.connection.executemany(
            f"INSERT INTO {table} VALUES ({marks}) ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {added}", rows)
        self.connection.executemany(
            f"DELETE FROM {table} WHERE {' AND '.join(f'{name} = ?' for name in keys)} AND jobs = 0",
            [row[:len(keys)] for row in rows if row[len(keys)] <= 0])

    # ---- retention and deletion ------------------------------------------------------------------------------------

    def drop_before(self, cluster: str, day_s: int) -> int:
        """Removes the jobs that ended before that day, and the sums of earlier days. Returns how many jobs."""
        number = self.word(cluster)
        gone = self.connection.execute(
            "DELETE FROM job WHERE cluster = ? AND end_s > 0 AND end_s < ? AND until_s < ?", (number, day_s, day_s))
        for table in ROLLUPS:
            self.connection.execute(f"DELETE FROM {table} WHERE cluster = ? AND time < ?", (number, day_s))
        self.connection.execute("UPDATE cluster SET begin_s = max(begin_s, ?), floor_s = max(floor_s, ?) "
                                "WHERE name = ?", (day_s, day_s, number))
        return gone.rowcount

    def digest_of(self, user: str) -> str:
        return hashlib.sha256((self.setting("salt") + user).encode()).hexdigest()

    def forgotten(self) -> frozenset[str]:
        return frozenset(row[0] for row in self.connection.execute("SELECT digest FROM forgotten"))

    def forget(self, user: str) -> int:
        """Takes a person's name, job names and command lines out of the store, also of what will be collected. The sums
        of the others stay right, so their hours stay, as those of "(forgotten)". Returns how many jobs."""
        old = self.connection.execute("SELECT id FROM word WHERE text = ?", (user,)).fetchone()
        self.connection.execute("INSERT OR IGNORE INTO forgotten VALUES (?)", (self.digest_of(user),))
        if old is None:
            return 0
        new = self.word(FORGOTTEN)
        changed = self.connection.execute("UPDATE job SET user = ?, name = '', submit_line = '' WHERE user = ?",
                                          (new, old[0]))
        for table in ("day_use", "month_use"):
            names = ("cluster", *ROLLUPS[table])
            moved = ", ".join(str(new) if name == "user" else name for name in names)
            rows = self.connection.execute(f"SELECT {moved}, {', '.join(SUMS)} FROM {table} WHERE user = ?", old)
            sums = rows.fetchall()
            self.connection.execute(f"DELETE FROM {table} WHERE user = ?", old)
            self.add_to_rollup(table, sums)
        self._ids.clear()
        # An account or a node may have the same name: then the word itself is theirs too.
        places = [*((name, "job") for name in WORDS), ("node", "node_day_use"), ("name", "cluster")]
        used = " UNION ALL ".join(f"SELECT 1 FROM {table} WHERE {name} = {old[0]}" for name, table in places)
        if not self.connection.execute(f"SELECT 1 FROM ({used}) LIMIT 1").fetchone():
            self.connection.execute("DELETE FROM word WHERE id = ?", old)
        return changed.rowcount
