"""The store of the past: what is read again, late, changed or lost, and what may be read by whom."""

from __future__ import annotations

import dataclasses
import grp
import os
import sqlite3
import stat

import pytest
from insight_past import DAY, END, FakeAccounting, assert_same, past, truths
from pounce.errors import BadRequest, PounceError, SlurmUnreachable, VersionMismatch
from pounce.insight.answer import Question, answer
from pounce.insight.collector import MARGIN_S, Collector
from pounce.insight.jobs import Job
from pounce.insight.kept_jobs import jobs_between
from pounce.insight.projects import project_rule
from pounce.insight.spans import Calendar
from pounce.insight.store import FORGOTTEN, ROLLUPS, VERSION, create, open_store, told

FROM = END - 9 * DAY
KEYS = ("user", "class", "day")


@pytest.fixture(scope="module")
def rows():
    return past(120, seed=3)


@pytest.fixture
def place(tmp_path):
    return tmp_path / "folder" / "usage.sqlite"


@pytest.fixture
def store(place):
    store = create(place, "UTC")
    yield store
    store.close()


def summed(store, keys=KEYS, from_s=END - 7 * DAY, to_s=END):
    def no_slurm():
        raise AssertionError("the store has all of it")

    return answer(Question(tuple(keys), from_s, to_s), Calendar(), project_rule(""), store, no_slurm).groups


def assert_true(store, rows, now_s=END, from_s=END - 7 * DAY):
    for keys in (KEYS, ("node",), ("hour", "mode")):
        assert_same(summed(store, keys, from_s, now_s), truths(rows, keys, from_s, now_s, now_s))


def content(store) -> dict[str, list]:
    return {table: store.connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3, 4, 5, 6, 7").fetchall() for table in ("job", *ROLLUPS)}


def test_a_second_run_finds_all_as_it_was(store, rows):
    Collector(store, FakeAccounting(rows)).run(FROM)
    before = content(store)

    again = FakeAccounting(rows)
    done = Collector(store, again).run(None)

    assert content(store) == before
    assert min(begin for begin, _ in again.windows) == END - MARGIN_S, "only the end is read again"
    assert done.written <= sum(job.end_s == 0 for job in rows)


def test_each_job_comes_out_of_the_store_as_it_went_in(store, rows):
    source = FakeAccounting([dataclasses.replace(job, submit_line="sbatch a.sh", state="FAILED", exit_code=3, memory_peak_mib=7, wckey="*x") for job in rows])
    Collector(store, source).run(FROM)

    found = list(jobs_between(store, store.kept(), END - 7 * DAY, END - DAY))

    sent = [job for job in source.jobs(END - 7 * DAY, END - DAY, source.facts()) if job.until_s > max(job.start_s, END - 7 * DAY) and 0 < job.start_s < END - DAY]
    key = lambda job: (job.start_s, job.job, job.submit_s)
    assert len(found) > 50 and [job.start_s for job in found] == sorted(job.start_s for job in found)
    assert sorted(found, key=key) == sorted((dataclasses.replace(job, gpu_types={}) for job in sent), key=key)


def test_a_run_goes_on_where_slurmdbd_left_the_last_one(store, rows):
    with pytest.raises(SlurmUnreachable):
        Collector(store, FakeAccounting(rows, fails_after=5)).run(FROM)
    kept = store.kept()
    assert kept and FROM < kept.until_s < END

    Collector(store, FakeAccounting(rows)).run(None)

    assert_true(store, rows)


def test_a_window_that_fails_in_the_middle_leaves_nothing_of_itself(store, rows, monkeypatch):
    collector = Collector(store, FakeAccounting(rows))
    written = []
    real = collector._write_job

    def fails(*words):
        written.append(words)
        if len(written) == 40:
            raise KeyboardInterrupt
        return real(*words)

    monkeypatch.setattr(collector, "_write_job", fails)
    with pytest.raises(KeyboardInterrupt):
        collector.run(FROM)

    until_s = store.kept().until_s
    assert FROM < until_s < END
    assert_same(summed(store, ("user",), FROM + DAY, until_s), truths(rows, ("user",), FROM + DAY, until_s))
    Collector(store, FakeAccounting(rows)).run(None)
    assert_true(store, rows)


def test_running_jobs_are_followed_to_their_end(store, rows):
    for now_s in (END - 3 * DAY, END - 3 * DAY + 4000, END - DAY, END):
        seen = [job if 0 < job.end_s <= now_s else dataclasses.replace(job, end_s=0, start_s=job.start_s if job.start_s < now_s else 0, energy_j=-1)
                for job in rows if job.submit_s < now_s]
        Collector(store, FakeAccounting(seen, now_s)).run(FROM)
        assert_true(store, seen, now_s, END - 8 * DAY)
    assert_true(store, [job if job.end_s else dataclasses.replace(job, energy_j=-1) for job in rows])


def test_what_slurmctld_hands_in_late_is_read_too(store, rows):
    now_s = END - 4 * 3600
    late = [job for job in rows if now_s - MARGIN_S < (job.end_s or END) < END and job.start_s]
    assert late
    Collector(store, FakeAccounting([job for job in rows if job not in late and (job.end_s or END) <= now_s], now_s)).run(FROM)

    Collector(store, FakeAccounting(rows)).run(None)

    assert_true(store, rows)


def test_the_store_grows_backwards_too(store, rows):
    Collector(store, FakeAccounting(rows)).run(END - 2 * DAY)
    assert store.kept().begin_s == Calendar().day_of(END - 2 * DAY)

    Collector(store, FakeAccounting(rows)).run(FROM)

    assert_true(store, rows)
    assert store.kept().begin_s == Calendar().day_of(FROM)


def test_a_run_that_stops_on_its_way_back_is_continued(store, rows):
    Collector(store, FakeAccounting(rows)).run(END - 2 * DAY)
    with pytest.raises(SlurmUnreachable):
        Collector(store, FakeAccounting(rows, fails_after=9)).run(FROM)
    assert Calendar().day_of(FROM) < store.kept().begin_s

    Collector(store, FakeAccounting(rows)).run(FROM)

    assert_true(store, rows)


def test_slurmdbd_is_asked_for_shorter_spans_where_it_refuses_long_ones(store, rows):
    source = FakeAccounting(rows, most=16)
    Collector(store, source).run(FROM)

    assert source.refused > 0
    assert_true(store, rows)


def runaway(**changes) -> Job:
    return dataclasses.replace(Job(job=7, submit_s=END - 5 * DAY, eligible_s=END - 5 * DAY, start_s=END - 5 * DAY, user="alice", nodes="g1", gpus=2,
                                   cpus=4, limit_s=3600, state="RUNNING"), **changes)


def test_a_runaway_job_counts_up_to_its_limit_and_no_more_once_it_is_mended(store):
    Collector(store, FakeAccounting([runaway(lost=True)])).run(FROM)
    assert summed(store, ("user",))["alice",].gpu_s == 2 * 3600

    later = END + 3600
    mended = runaway(end_s=END - 5 * DAY, state="COMPLETED")  # as `sacctmgr show runawayjobs` does
    Collector(store, FakeAccounting([mended], later)).run(None)

    assert summed(store, ("user",)) == {}
    assert store.connection.execute("SELECT count(*) FROM day_use").fetchone() == (0,)


def test_a_job_that_slurm_has_dropped_held_what_was_seen_of_it(store):
    Collector(store, FakeAccounting([runaway(limit_s=0)])).run(FROM)
    Collector(store, FakeAccounting([], END + 3600)).run(None)

    assert summed(store, ("user",))["alice",].gpu_s == 2 * 5 * DAY
    source = FakeAccounting([], END + 7200)
    Collector(store, source).run(None)
    assert all(end - begin > 1 for begin, end in source.windows), "it is not looked for again"


def test_a_database_restored_with_fewer_jobs_takes_none_from_the_store(store, rows):
    Collector(store, FakeAccounting(rows)).run(FROM)
    Collector(store, FakeAccounting(rows[::2])).run(None)

    ended = [job for job in rows if job.end_s]
    found = summed(store, ("user",), END - 7 * DAY, END - DAY)
    expected = truths(ended, ("user",), END - 7 * DAY, END - DAY)
    assert all(found[key].jobs >= expected[key].jobs for key in expected)


def test_a_clock_that_went_back_reads_again_and_counts_once(store, rows):
    Collector(store, FakeAccounting(rows)).run(FROM)
    early = END - DAY
    Collector(store, FakeAccounting(rows, early)).run(None)
    Collector(store, FakeAccounting(rows)).run(None)

    assert_true(store, rows)


def test_two_runs_at_a_time_count_once(store, rows, place):
    """One has begun before the other, and writes what the other has written."""
    other = create(place, "UTC")
    first, second = Collector(store, FakeAccounting(rows)), Collector(other, FakeAccounting(rows))
    second.run(FROM)
    longest = store.kept().longest_s
    first.run(FROM)
    other.close()

    assert_true(store, rows)
    store.keep(dataclasses.replace(store.kept(), longest_s=1))
    assert store.kept().longest_s == longest


def test_two_clusters_are_kept_apart(store, rows):
    Collector(store, FakeAccounting(rows)).run(FROM)
    Collector(store, FakeAccounting(rows[:30], END + 60, cluster="renamed")).run(FROM)

    assert store.kept("pounce").until_s == END
    assert store.kept().cluster == "renamed"
    assert_same(summed(store, ("user",)), truths(rows[:30], ("user",), END - 7 * DAY, END, END + 60))


def test_old_jobs_and_their_sums_are_dropped_and_stay_so(store, rows):
    Collector(store, FakeAccounting(rows)).run(FROM)
    done = Collector(store, FakeAccounting(rows)).run(FROM, keep_s=4 * DAY)

    first = Calendar().day_of(END - 4 * DAY)
    assert done.dropped > 10 and store.kept().begin_s == first
    assert not store.connection.execute("SELECT 1 FROM day_use WHERE time < ?", (first,)).fetchone()
    Collector(store, FakeAccounting(rows)).run(FROM)
    assert store.kept().begin_s == first
    assert_same(summed(store, KEYS, first, END), truths(rows, KEYS, first, END))


# ---- persons, and who may read -----------------------------------------------------------------------------------------


def test_a_person_is_taken_out_and_the_sums_of_others_stay(store, rows, place):
    Collector(store, FakeAccounting(rows)).run(FROM)
    before = summed(store, ("user",))
    with store.transaction():
        assert store.forget("zoë") == sum(job.user == "zoë" for job in rows)

    after = summed(store, ("user",))
    assert after[FORGOTTEN,].gpu_s == before["zoë",].gpu_s and after["bob",] == before["bob",]
    later = [*rows, Job(job=9, submit_s=END + 5, eligible_s=END + 5, start_s=END + 5, end_s=END + 65, gpus=1, user="zoë", name="secret")]
    Collector(store, FakeAccounting(later, END + 3600)).run(None)
    assert ("zoë",) not in summed(store, ("user",), END - 7 * DAY, END + 3600)
    store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    theirs = [job.name for job in rows if job.user == "zoë"]
    file = place.read_bytes()
    assert "zoë".encode() not in file and b"secret" not in file and not any(f"{name}\0".encode() in file for name in theirs)


def test_nobody_else_may_read_the_store(store, rows, place):
    Collector(store, FakeAccounting(rows[:5])).run(FROM)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (place.parent, *place.parent.iterdir())}
    assert modes.pop("folder") == 0o700 and set(modes.values()) == {0o600}, modes


def test_a_group_of_operators_may_be_let_in(place, rows):
    store = create(place, "UTC", group=grp.getgrgid(os.getegid()).gr_name)
    Collector(store, FakeAccounting(rows[:5])).run(FROM)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (place.parent, *place.parent.iterdir())}
    assert modes.pop("folder") == 0o750 and set(modes.values()) == {0o640}, modes
    store.close()
    with pytest.raises(BadRequest, match="there is no group 'xyz-none'"):
        create(place, "UTC", group="xyz-none")


def test_a_store_is_read_while_it_is_written(store, rows, place):
    Collector(store, FakeAccounting(rows[:50])).run(FROM)
    reader = open_store(place)
    before = summed(reader)
    with store.transaction():
        store.connection.execute("DELETE FROM day_use")
        assert summed(reader) == before
    reader.close()


def test_reading_changes_nothing(store, rows, place):
    Collector(store, FakeAccounting(rows[:5])).run(FROM)
    reader = open_store(place)
    with pytest.raises(sqlite3.OperationalError):
        reader.connection.execute("DELETE FROM job")
    reader.close()


# ---- what goes wrong ---------------------------------------------------------------------------------------------------


def test_a_store_of_a_later_version_is_refused(store, place):
    store.connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    store.close()
    for opens in (open_store, lambda place: create(place, "UTC")):
        with pytest.raises(VersionMismatch, match="written by a later pounce") as refused:
            opens(place)
        assert "Update pounce" in str(refused.value)


@pytest.mark.parametrize(("bytes_", "words"), [(b"", "is no store"), (b"no database at all" * 100, "is damaged, or no store")])
def test_a_file_that_is_no_store_is_named(tmp_path, bytes_, words):
    file = tmp_path / "usage.sqlite"
    file.write_bytes(bytes_)
    with pytest.raises(PounceError, match=words):
        open_store(file)


def test_a_store_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BadRequest, match="there is no store"):
        open_store(tmp_path / "usage.sqlite")


def test_a_full_disk_is_told_and_loses_nothing_that_was_kept(store, rows, place):
    Collector(store, FakeAccounting(rows[:60])).run(FROM)
    before = content(store)
    pages = store.connection.execute("PRAGMA page_count").fetchone()[0]
    store.connection.execute(f"PRAGMA max_page_count = {pages}")
    many = [*rows, *past(900, seed=9)]

    with pytest.raises(PounceError, match="the disk of .* is full") as full, told(place):
        Collector(store, FakeAccounting(many, END + 60)).run(FROM)

    assert "what was collected until now is kept" in str(full.value)
    kept = {table: set(rows) for table, rows in before.items()}
    assert {row[:3] for row in kept["job"]} <= {row[:3] for row in content(store)["job"]}
    store.connection.execute("PRAGMA max_page_count = 1000000")
    Collector(store, FakeAccounting(rows, END + 120)).run(FROM)
    assert summed(store, ("user",))


def test_a_site_without_slurmdbd_has_nothing_to_collect(store):
    with pytest.raises(PounceError, match="no slurmdbd, so there is nothing to collect"):
        Collector(store, FakeAccounting([], has_database=False))
