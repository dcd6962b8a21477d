"""``pouncectl usage`` as people type it: its tables, CSV and JSON, its refusals, and what it says is missing."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pounce.insight import plot
from pounce.insight.command import main
from pounce.insight.spans import Calendar
from pounce.insight.store import VERSION
from pounce.insight.tally import KEYS

NOW = int(time.time())
DAY = 86400

# Answers as `pouncectl accounting` does, from a file of rows; without the file as where slurmdbd is away.
PROGRAM = """#!{python}
import json, pathlib, sys
site = pathlib.Path({site!r})
for line in sys.stdin:
    ask = json.loads(line)
    if not site.exists():
        print(json.dumps({{"error": {{"code": "slurm_unreachable", "text": "slurmdbd did not answer", "remedy": "Start slurmdbd."}}}}), flush=True)
        continue
    known = json.loads(site.read_text())
    if ask["ask"] == "facts":
        print(json.dumps({{"facts": known["facts"]}}))
    for job in known["jobs"] if ask["ask"] == "jobs" else ():
        if job["eligible_s"] < ask["to_s"] and not 0 < job["end_s"] < ask["from_s"]:
            print(json.dumps({{"job": job}}))
    print(json.dumps({{"end": True}}), flush=True)
"""


def job(number: int, user: str, begin: int, hours: float, gpus: int = 1, **more) -> dict:
    return {"job": number, "submit_s": begin - 60, "eligible_s": begin - 60, "start_s": begin, "end_s": begin + int(hours * 3600), "user": user,
            "account": "ml", "class": "lion", "partition": "gpu", "mode": "batch", "nodes": "g1", "gpus": gpus, "cpus": 2 * gpus, "state": "COMPLETED", **more}


JOBS = [
    job(1, "alice", NOW - 2 * DAY, 4, gpus=2, mode="offload", lease="3f", busy_s=90, idle_s=30, **{"class": "cheetah"}),
    job(2, "bob", NOW - 2 * DAY, 20, mode="reservation"),
    job(3, "=cmd|'calc'!A1", NOW - DAY, 1, name="\x1b[2J"),
    job(4, "bob", NOW - DAY, 2, gpu_use_permille=500, gpu_types={"h100": 1}, energy_j=7_200_000),
]


class Site:
    def __init__(self, folder, monkeypatch):
        self.file, self.store = folder / "site.json", folder / "store" / "usage.sqlite"
        programs = folder / "programs"
        programs.mkdir()
        (programs / "pouncectl").write_text(PROGRAM.format(python=sys.executable, site=str(self.file)))
        (programs / "pouncectl").chmod(0o755)
        monkeypatch.setenv("POUNCE_PROGRAMS", str(programs))
        monkeypatch.setenv("POUNCE_USAGE_STORE", str(self.store))
        monkeypatch.setenv("TZ", "UTC")
        self.has(JOBS)

    def has(self, jobs: list[dict], **facts) -> None:
        facts = {"cluster": "pounce", "now_s": NOW, "has_database": True, "counts_gpus": True, "counts_gpu_use": True, "hides_others": False, **facts}
        self.file.write_text(json.dumps({"facts": facts, "jobs": jobs}))


@pytest.fixture
def site(tmp_path, monkeypatch):
    return Site(tmp_path, monkeypatch)


@pytest.fixture
def run(capfd):
    def run(*words: str, code: int = 0) -> str:
        assert main(list(words)) == code, capfd.readouterr()
        out, errors = capfd.readouterr()
        return errors if code else out

    return run


def shares(run, *words: str) -> dict[tuple, dict]:
    document = json.loads(run(*words, "--json"))
    return {tuple(share[key] for key in document["by"]): share for share in document["shares"]}


def test_the_table_has_what_was_held_and_how_much_of_it_computed(site, run):
    lines = run("--by", "class,user,mode").splitlines()

    assert lines[0] == "Cluster pounce, the last 7d"
    assert lines[1].split("  ")[0] == "CLASS" and [*map(str.strip, filter(None, lines[1].split("  ")))][3:] == [
        "JOBS", "CPU TIME", "GPU TIME", "GPU BUSY", "WAITED", "ENERGY"]
    assert [*map(str.strip, filter(None, lines[2].split("  ")))] == ["lion", "bob", "reservation", "1", "40.0 h", "20.0 h", "-", "60 s", "-"]
    assert [*map(str.strip, filter(None, lines[3].split("  ")))] == ["cheetah", "alice", "offload", "1", "16.0 h", "8.0 h", "75 % said", "60 s", "-"]
    assert lines[6] == "pounce leased 8.0 h of GPU time: 75 % computing, 25 % warm but idle, said by the jobs themselves"
    assert len(lines) == 7


def test_json_has_the_keys_that_were_given_and_the_sums_in_seconds(site, run):
    found = shares(run, "--by", "user,gpu")
    assert found["bob", "h100"] == {"user": "bob", "gpu": "h100", "jobs": 1, "started": 1, "gpu_s": 7200, "gpu_busy_s": 3600.0, "gpu_known_s": 7200,
                                    "gpu_said_s": 0, "cpu_s": 14400, "waited_s": 60, "energy": 7_200_000}
    assert found["bob", ""]["gpu_busy_s"] is None and found["bob", ""]["energy"] is None
    document = json.loads(run("--since", "1h", "--json"))
    assert document["from_slurmdbd"] and document["shares"] == [] and document["to_s"] - document["from_s"] == 3600 and document["store_until_s"] is None


def test_a_spreadsheet_computes_nothing_of_what_users_wrote(site, run):
    rows = list(csv.reader(io.StringIO(run("--by", "user,day", "--csv"))))
    assert rows[0] == ["user", "day", "jobs", "started", "gpu_s", "gpu_busy_s", "gpu_known_s", "gpu_said_s", "cpu_s", "waited_s", "energy"]
    assert "'=cmd|'calc'!A1" in {row[0] for row in rows}
    assert not [row for row in rows for cell in row if cell.startswith(("=", "+", "-", "@"))]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1"])
def test_a_cell_that_begins_as_a_formula_begins_with_a_quote(text, site, run):
    site.has([job(1, text, NOW - DAY, 1)])
    rows = list(csv.reader(io.StringIO(run("--by", "user", "--csv"))))
    assert rows[1][0] == "'" + re.sub(r"\s", " ", text)


def test_what_users_wrote_acts_on_no_terminal(site, run):
    site.has([job(1, "\x1b[2Jmallory\nroot", NOW - DAY, 1)])
    text = run("--by", "user")
    assert "\x1b" not in text and "\nroot" not in text


def test_the_first_rows_and_the_sum_of_the_others(site, run):
    lines = run("--by", "user", "--top", "1").splitlines()
    assert lines[2].startswith("bob ") and lines[3].startswith("(2 more)") and "9.0 h" in lines[3]
    document = json.loads(run("--by", "user", "--top", "1", "--json"))
    assert len(document["shares"]) == 1 and document["others"]["gpu_s"] == 9 * 3600
    assert run("--by", "user", "--top", "1", "--csv").splitlines()[2].startswith("(others),2,2,32400,")


@pytest.mark.parametrize(("sort", "users"), [("gpu", "bob alice ="), ("key", "= alice bob"), ("busy", "alice bob ="), ("energy", "bob = alice"), ("jobs", "bob = alice")])
def test_rows_are_sorted_as_told(sort, users, site, run):
    rows = list(csv.reader(io.StringIO(run("--by", "user", "--sort", sort, "--csv"))))[1:]
    assert [row[0].lstrip("'").replace("=cmd|'calc'!A1", "=") for row in rows] == users.split()


def test_times_stand_in_their_order(site, run):
    rows = [line.split()[0] for line in run("--by", "day").splitlines()[2:-1]]
    assert rows == sorted(rows) and len(rows) >= 2


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--by", "clas"], "did you mean class"), (["--since", "yesterday"], "'yesterday' is no span of time"), (["--form", "x"], "did you mean --from"),
     (["--from", "2026-02-30"], "there is no day '2026-02-30'"), (["--from", "2026-03-02", "--to", "2026-03-01"], "comes after"),
     (["--to", "2026-03-02"], "--to needs --from"), (["--since", "7d", "--from", "today"], "two spans"), (["--from", "2999-01-01"], "has not begun"),
     (["--top", "0"], "from 1 on"), (["--top", "many"], "from 1 on"), (["--sort", "size"], "does not know 'size'"), (["--csv", "--json"], "two answers"),
     (["--plot", "usage.gif"], "no picture that can be made"), (["--by"], "--by needs a value"), (["--json=yes"], "takes no value"), (["--by", "day", "--by", "user"], "twice"),
     (["colect"], "did you mean collect"), (["collect", "--keep", "1h"], "a span from 7d on"), (["forget"], "whose name"), (["collect", "--group", "xyz-none"], "no group"),
     (["--store", "/nowhere/usage.sqlite"], "there is no store"), (["--projects", "/nowhere/table"], "cannot be read")],
)
def test_a_wrong_command_line_is_refused_with_what_to_write(words, said, site, run):
    if "--json=yes" in words:
        assert "takes no value" in run(*words, code=2)
        return
    shown = run(*words, code=2) if "--json" not in words else json.dumps(json.loads(run_json(words)))
    assert said in shown


def run_json(words: list[str]) -> str:
    out, sys.stdout = sys.stdout, io.StringIO()
    try:
        assert main(words) == 2
        return sys.stdout.getvalue()
    finally:
        sys.stdout = out


def test_help_names_every_option_and_key(run):
    page = run("--help")
    for word in ("--since", "--from", "--to", "--by", "--top", "--sort", "--csv", "--json", "--plot", "weekday", "collect", "forget"):
        assert word in page
    assert run("collect", "--help") == page


def test_a_run_that_is_stopped_says_so_in_a_line(site, monkeypatch, capfd):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pounce.insight.command.answer", interrupted)
    assert main([]) == 130
    assert capfd.readouterr().err == "stopped; what a store has collected is kept\n"


def test_a_reader_that_has_seen_enough_ends_it_quietly(site):
    program = "import sys; from pounce.insight.command import main; sys.exit(main(['--by', 'user,day,hour', '--csv']))"
    site.has([job(number, f"user{number}", NOW - DAY, 24) for number in range(1, 300)])
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert b"Broken" not in process.stderr.read() and process.wait() == 0


# ---- what is missing ---------------------------------------------------------------------------------------------------


def test_without_slurmdbd_it_is_ones_own_leases_and_says_so(site, run):
    site.has([JOBS[0]], has_database=False, counts_gpu_use=False)
    text = run()
    assert "This Slurm has no slurmdbd: only your own leases are known here" in text and "8.0 h" in text
    assert json.loads(run("--json"))["from_slurmdbd"] is False
    assert "no slurmdbd" in run("collect", code=1)


def test_a_site_that_hides_others_shows_ones_own_and_says_so(site, run):
    site.has(JOBS[:1], hides_others=True)
    assert "These are your own jobs: this site shows others' to operators only" in run()
    assert json.loads(run("--json"))["own_only"] is True
    assert "These are your own jobs" in run("collect", "--from", "2026-01-01")
    site.file.unlink()
    assert "These are your own jobs" in run("--from", "2026-01-01"), "the store has no more"


def test_what_is_not_recorded_is_said_with_how_to_record_it(site, run):
    site.has([job(1, "alice", NOW - DAY, 1, mode="offload")], counts_gpus=False, counts_gpu_use=False)
    text = run()
    assert "AccountingStorageTRES=gres/gpu" in text and "job_comment" in text and "needs NVML on the nodes" in text


def test_a_slurmdbd_that_is_away_is_an_error_without_a_store_and_a_gap_with_one(site, run):
    site.file.rename(site.file.with_suffix(".away"))
    assert "slurmdbd did not answer" in run(code=1)
    site.file.with_suffix(".away").rename(site.file)
    run("collect", "--from", "2026-01-01", "--quiet")
    before = shares(run, "--by", "user")

    site.file.unlink()

    assert shares(run, "--by", "user") == before
    assert "Nothing is known of" in run("--by", "user") and "slurmdbd did not answer" in run("--by", "user")
    (gap,) = json.loads(run("--json"))["gaps"]
    assert gap["from_s"] == NOW


# ---- the store ---------------------------------------------------------------------------------------------------------


def test_the_store_gives_what_slurm_gives(site, run):
    keys = ("class,user,mode", "day", "hour", "node", "gpu,account", "project")
    before = [shares(run, "--by", key) for key in keys]
    said = run("collect", "--from", time.strftime("%Y-%m-%d", time.gmtime(NOW - 10 * DAY)))
    assert "4 jobs are new or have changed" in said
    assert [shares(run, "--by", key) for key in keys] == before
    assert json.loads(run("--json"))["store_until_s"] == NOW
    assert [shares(run, "--by", key, "--store", "none") for key in keys] == before

    known = json.loads(run("store", "--json"))
    assert known["jobs"] == 4 and known["until_s"] == NOW and known["cluster"] == "pounce" and known["store"] == str(site.store)
    assert "4 jobs" in run("store")


def test_a_past_span_asks_slurm_nothing_once_it_is_collected(site, run):
    run("collect", "--from", time.strftime("%Y-%m-%d", time.gmtime(NOW - 10 * DAY)), "--quiet")
    site.file.unlink()
    day = Calendar().label("day", NOW - 2 * DAY)
    document = json.loads(run("--from", day, "--to", day, "--by", "user", "--json"))
    assert document["gaps"] == [] and {share["user"] for share in document["shares"]} == {"alice", "bob"}


def test_a_person_can_be_taken_out(site, run):
    run("collect", "--from", "2026-01-01", "--quiet")
    assert "2 jobs are now those of (forgotten)" in run("forget", "bob")
    assert ("(forgotten)",) in shares(run, "--by", "user") and ("bob",) not in shares(run, "--by", "user")
    assert json.loads(run("forget", "bob", "--json")) == {"forgotten_jobs": 0}


def test_a_project_is_what_the_site_says(site, run, tmp_path):
    table = tmp_path / "projects"
    table.write_text("# of the lab\nuser bob robotics\naccount ml vision group\n\n")
    assert set(shares(run, "--by", "project", "--projects", str(table))) == {("robotics",), ("vision group",)}
    run("collect", "--from", "2026-01-01", "--quiet", "--projects", str(table))
    assert set(shares(run, "--by", "project")) == {("robotics",), ("vision group",)}
    table.write_text("group ml vision\n")
    assert "line 1 of" in run("--by", "project", "--projects", str(table), code=2)


def test_a_store_of_a_later_version_is_refused_in_a_sentence(site, run):
    import sqlite3

    run("collect", "--from", "2026-01-01", "--quiet")
    connection = sqlite3.connect(site.store)
    connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    assert "was written by a later pounce" in run(code=1) and "was written by a later pounce" in run("collect", code=1)


# ---- the page ------------------------------------------------------------------------------------------------------


def test_what_the_page_shows_works(site, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).resolve().parents[2] / "docs" / "insight.md").read_text()
    lines = [line for block in re.findall(r"^```sh\n(.*?)^```", page, re.M | re.S) for line in block.splitlines()
             if line.startswith("pouncectl usage")]
    assert len(lines) >= 5
    for line in lines:
        words = shlex.split(line)
        if "--plot" in words:
            pytest.importorskip("matplotlib")
        assert run(*words[2:])
    for word in re.findall(r"^\| `(--[a-z]+)", page, re.M):
        assert word in run("--help")
    keys = "".join(re.findall(r"^\| (`.*?) \|", page[page.index("| key |"):page.index("## What the figures are")], re.M))
    assert set(re.findall("`([a-z]+)`", keys)) == set(KEYS)


# ---- pictures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keys", ["user,class", "day,mode", "hour", "weekday,user", "node"])
@pytest.mark.parametrize("ending, begins", [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_a_picture_is_drawn(keys, ending, begins, site, run, tmp_path):
    pytest.importorskip("matplotlib")
    site.has([*JOBS, *(job(10 + number, f"${number}_x^", NOW - DAY, 1) for number in range(9))])
    run("--by", keys, "--plot", str(tmp_path / f"usage.{ending}"))
    assert (tmp_path / f"usage.{ending}").read_bytes().startswith(begins)


def test_a_picture_without_matplotlib_says_what_to_install(site, run, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "Install matplotlib" in run("--plot", "usage.svg", code=2)
    assert plot.ENDINGS == (".svg", ".png") and os.path.exists(site.file)
