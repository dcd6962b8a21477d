"""``pouncectl metrics``: what it makes of pounced's and Slurm's words, what it counts over many looks, and how it serves and writes it."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import socket
import stat
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from metrics_documents import MONITORING, SECRETS, ended, expressions, lease, queue, stand_in, status
from pounce.errors import BadRequest, PounceError
from pounce.insight.command import main as usage
from pounce.insight.metrics import command, exposition, server
from pounce.insight.metrics.command import main
from pounce.insight.metrics.counted import Counted, wait_of
from pounce.insight.metrics.exposition import text_of
from pounce.insight.metrics.families import COUNTER, EXPORTER, FAMILIES, HISTOGRAM, OTHER, OWN, SITE, WAIT_BUCKETS_S, Histogram, Names, series_of
from pounce.insight.metrics.own import STATES, own_values
from pounce.insight.metrics.process import process_values
from pounce.insight.metrics.server import MetricsServer, address_of, answer_to
from pounce.insight.metrics.sources import Source, Sources
from pounce.insight.metrics.textfile import TextFile
from pounce.insight.words import parsed

pytest.importorskip("prometheus_client", reason="prometheus_client is not installed: packaging/environment --examples")
ROOT = Path(__file__).resolve().parents[2]
NOW = int(time.time()) - 60  # what slurmdbd has is never quite of this moment
PROGRAM = "import sys; from pounce.insight.metrics.command import main; sys.exit(main(sys.argv[1:]))"
needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not here: packaging/install-system --only monitoring")


# ---- one look at pounced ---------------------------------------------------------------------------------------------


def test_leases_are_counted_by_class_and_state_and_a_state_without_one_is_zero():
    found = own_values(status([lease("1"), lease("2", "queued", gpus=2, workers=3, ready_after_s=None), lease("3", class_name="")]), NOW, Names())

    assert found["pounce_leases"]["lion", "busy"] == 1 and found["pounce_leases"]["lion", "queued"] == 1 and found["pounce_leases"]["none", "busy"] == 1
    assert {state for _, state in found["pounce_leases"]} == set(STATES) and sum(found["pounce_leases"].values()) == 3
    assert found["pounce_lease_gpus"]["lion", "queued"] == 6 and found["pounce_lease_gpus"]["lion", "idle"] == 0


def test_the_states_are_those_of_the_documentation():
    listed = re.findall(r"^\| (\w+) \|", (ROOT / "docs" / "states.md").read_text().split("what is true")[1].split("## ")[0], re.M)
    assert (*STATES, "ended") == tuple(listed)


def test_a_class_whose_leases_are_gone_has_zeros_and_not_nothing():
    classes = Names()
    own_values(status([lease("1", "queued", ready_after_s=None)]), NOW, classes)
    found = own_values(status(), NOW, classes)
    assert found["pounce_leases"]["lion", "queued"] == 0 and found["pounce_longest_wait_seconds"]["lion",] == 0


def test_the_longest_wait_is_that_of_leases_whose_job_does_not_run_yet():
    found = own_values(status([lease("1", "busy", age_s=9000), lease("2", "queued", age_s=70), lease("3", "requested", age_s=30)]), NOW, Names())
    assert found["pounce_longest_wait_seconds"] == {("lion",): 70.0}


def test_nodes_are_avoided_until_their_time_is_over():
    assert own_values(status(), NOW, Names())["pounce_avoided_nodes"] == {(): 1.0}
    assert own_values(status(), 2_000_000_001, Names())["pounce_avoided_nodes"] == {(): 0.0}


def test_a_process_is_measured_only_if_it_is_a_pounced(tmp_path):
    assert process_values(1 << 30) == {}
    for name, expected in (("bash", False), ("pounced", True)):
        folder = tmp_path / name / "77"
        for thread, switches in (("77", 40), ("78", 2)):
            (folder / "task" / thread).mkdir(parents=True)
            (folder / "task" / thread / "status").write_text(f"Name: x\nvoluntary_ctxt_switches:\t{switches}\nnonvoluntary_ctxt_switches:\t900\n")
        (folder.parent / "stat").write_text("cpu 1 2\nbtime 1000\n")
        fields = ["S", *["0"] * 10, "150", "50", *["0"] * 6, "500", "0", "3"]
        (folder / "stat").write_text(f"77 ({name}) {' '.join(fields)} 0\n")
        found = process_values(77, tmp_path / name)
        assert bool(found) == expected
    assert found["pounce_daemon_wakeups_total"] == {(): 42.0}
    assert found["pounce_daemon_cpu_seconds_total"] == {(): 2.0} and found["pounce_daemon_start_time_seconds"] == {(): 1005.0}


# ---- many looks ------------------------------------------------------------------------------------------------------


def looked(*documents: dict, counted: Counted | None = None) -> Counted:
    counted = counted or Counted()
    for each in documents:
        counted.look(each, Names())
    return counted


def test_what_was_there_at_the_first_look_is_not_counted():
    """Else a restart of the exporter would count the same leases again."""
    counted = looked(status([lease("1", busy_ms=9000)], [ended("0")]), status([lease("1", busy_ms=11000)], [ended("0")]))
    assert counted.values["pounce_lease_starts_total"]["lion",] == 0
    assert counted.values["pounce_gpu_busy_seconds_total"]["lion",] == 2.0


def test_a_lease_counts_once_as_started_with_its_wait_and_once_as_given_back():
    waits, runs = lease("1", "queued", ready_after_s=None), lease("1", ready_after_s=7.0, gpus=2, workers=2, busy_ms=1000, idle_ms=500)
    over = ended("1", cause="idle", gpus=4, busy_ms=1500, idle_ms=1500)
    counted = looked(status(), status([waits]), status([runs]), status([runs]), status([], [over]), status([], [over]))

    assert counted.values["pounce_lease_starts_total"] == {("lion",): 1.0}
    assert counted.values["pounce_lease_give_backs_total"] == {("lion", "idle"): 1.0}
    assert counted.values["pounce_gpu_held_seconds_total"] == {("lion",): 12.0} and counted.values["pounce_gpu_busy_seconds_total"] == {("lion",): 6.0}
    histogram = counted.values["pounce_lease_wait_seconds"]["lion",]
    assert histogram.counts[WAIT_BUCKETS_S.index(10)] == 1 and sum(histogram.counts) == 1 and histogram.total == 7.0


def test_a_lease_that_came_and_went_between_two_looks_counts_without_a_wait():
    counted = looked(status(), status([], [ended("1", busy_ms=2000)]))
    assert counted.values["pounce_lease_starts_total"]["lion",] == 1 and "pounce_lease_wait_seconds" not in counted.values


def test_a_lease_that_meets_an_error_counts_by_its_code_and_each_code_begins_at_zero():
    counted = looked(status(), status([lease("1")]), status([], [ended("1", code="out_of_memory")]))
    errors = counted.values["pounce_lease_errors_total"]
    assert errors["lion", "out_of_memory"] == 1 and errors["lion", "preempted"] == 0 and "pounce_lease_give_backs_total" not in counted.values


def test_a_daemon_that_starts_after_the_exporter_has_only_new_leases():
    counted = Counted()
    counted.nothing_runs()
    assert looked(status([lease("1")]), counted=counted).values["pounce_lease_starts_total"]["lion",] == 1


def test_a_figure_that_goes_back_takes_nothing_away():
    counted = looked(status(), status([lease("1", busy_ms=5000)]), status([lease("1", busy_ms=0)]), status([lease("1", busy_ms=6000)]))
    assert counted.values["pounce_gpu_busy_seconds_total"]["lion",] == 6.0


def test_a_wait_is_not_known_of_a_lease_whose_history_begins_later():
    assert wait_of(lease("1", ready_after_s=7.0)) == 7.0
    assert wait_of(lease("1", ready_after_s=None)) is None
    cut = lease("1")
    cut["history"].pop(0)
    assert wait_of(cut) is None


def test_counters_go_on_in_the_next_process():
    first = looked(status(), status([lease("1", ready_after_s=4.0, busy_ms=1000)]))
    again = Counted.from_text(first.as_text())
    looked(status([lease("1", ready_after_s=4.0, busy_ms=3000), lease("2", ready_after_s=1.0)]), counted=again)

    assert again.values["pounce_lease_starts_total"]["lion",] == 2 and again.values["pounce_gpu_busy_seconds_total"]["lion",] == 3.0
    assert sum(again.values["pounce_lease_wait_seconds"]["lion",].counts) == 2


@pytest.mark.parametrize("text", ["", "[]", "{", '{"version": 9}', '{"version": 1}', '{"version": 1, "leases": {}, "ended": [], "has_looked": true, "values": [["pounce_up", [], 1], ["x", [], 1]]}'])
def test_what_is_no_record_of_counters_begins_anew(text):
    assert Counted.from_text(text).values == {}


# ---- names and labels ------------------------------------------------------------------------------------------------


def test_a_label_has_no_more_values_than_its_bound():
    names = Names(2)
    assert [names.of(text) for text in ("a", "b", "c", "a", "")] == ["a", "b", OTHER, "a", OTHER]


def everything() -> dict:
    """A value for each family."""
    values = {family.name: {tuple("x" for _ in family.labels): Histogram() if family.kind == HISTOGRAM else 1.0} for family in FAMILIES.values()}
    values["pounce_lease_wait_seconds"]["x",].observe(3.0)
    return values


@needs_promtool
def test_promtool_finds_nothing_to_say_of_any_metric():
    done = subprocess.run(["promtool", "check", "metrics"], input=text_of(everything()), capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_each_family_is_written_under_the_names_that_the_table_says():
    text = text_of(everything()).decode()
    assert set(re.findall(r"^(\w+)(?:\{| )", text, re.M)) == {name for family in FAMILIES.values() for name in series_of(family)}
    assert all((family.name.endswith("_total")) == (family.kind == COUNTER) for family in FAMILIES.values())


def test_nothing_that_a_person_wrote_or_that_names_a_job_becomes_a_label(program, run):
    text = run("--own", "--site")
    assert "pounce_leases{" in text and "pounce_site_jobs{" in text and "pounce_site_gpu_held_seconds{" in text
    assert [secret for secret in SECRETS if secret in text] == []


# ---- the site --------------------------------------------------------------------------------------------------------


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A folder whose files a stand-in for pouncectl says."""
    monkeypatch.setenv("POUNCE_PROGRAMS", str(stand_in(tmp_path)))
    monkeypatch.setenv("POUNCE_USAGE_STORE", str(tmp_path / "none.sqlite"))
    (tmp_path / "status.json").write_text(json.dumps(status([lease("1")])))
    (tmp_path / "parked.json").write_text(json.dumps({"parked": [{"id": "a", "size": 1000}, {"id": "b", "size": 24}]}))
    (tmp_path / "top.json").write_text(json.dumps(queue(NOW)))
    held = {"submit_s": NOW - 3660, "eligible_s": NOW - 3660, "start_s": NOW - 3600, "end_s": NOW, "user": "alice", "class": "lion", "state": "COMPLETED", "cpus": 1}
    rows = [{**held, "job": 90 + number, "gpus": number, "account": f"lab{number}"} for number in (1, 2, 3)]
    rows.append({**held, "job": 99, "gpus": 1, "account": "lab3", "mode": "offload", "lease": "ce5d55e2", "busy_s": 900, "idle_s": 2700})
    facts = {"cluster": "pounce", "now_s": NOW, "has_database": True, "counts_gpus": True}
    (tmp_path / "jobs.json").write_text(json.dumps({"facts": facts, "jobs": rows}))
    return tmp_path


@pytest.fixture
def run(capfd):
    def run(*words: str, code: int = 0) -> str:
        assert main(list(words)) == code, capfd.readouterr()
        out, errors = capfd.readouterr()
        return errors if code else out

    return run


def test_the_site_has_pounces_jobs_apart_from_all_and_what_holds_its_gpus(program, run):
    text = run("--site")
    for line in ('pounce_site_leases{class="lion",state="running"} 1.0', 'pounce_site_leases{class="lion",state="waiting"} 2.0',
                 'pounce_site_jobs{class="lion",state="waiting"} 5.0', 'pounce_site_held_gpus{class="lion",mode="pounce"} 2.0',
                 'pounce_site_held_gpus{class="lion",mode="batch"} 1.0', 'pounce_site_held_gpus{class="tabby",mode="interactive"} 0.0',
                 'pounce_site_free_gpus{type="a100"} 5.0', 'pounce_site_longest_wait_seconds{class="tabby"} 0.0', "pounce_site_up 1.0"):
        assert line in text.splitlines()
    assert "pounce_up" not in text


def test_usage_names_the_accounts_that_held_most_and_the_rest_is_one(program, run):
    lines = run("--site", "--accounts", "2", "--window", "2h").splitlines()
    for line in ('pounce_site_gpu_held_seconds{account="lab3",class="lion"} 14400.0', 'pounce_site_gpu_held_seconds{account="lab2",class="lion"} 7200.0',
                 'pounce_site_gpu_held_seconds{account="other",class="lion"} 3600.0', 'pounce_site_gpu_known_seconds{account="lab3",class="lion"} 3600.0',
                 'pounce_site_gpu_busy_seconds{account="lab3",class="lion"} 900.0', 'pounce_site_started_jobs{account="lab3",class="lion"} 2.0',
                 'pounce_site_waited_seconds{account="lab3",class="lion"} 120.0', "pounce_site_window_seconds 7200.0", "pounce_site_gap_seconds 0.0"):
        assert line in lines


def test_a_site_that_records_no_gpus_has_no_figures_of_them_and_not_zeros(program, run):
    known = json.loads((program / "jobs.json").read_text())
    known["facts"]["counts_gpus"] = False
    (program / "jobs.json").write_text(json.dumps(known))
    text = run("--site")
    assert "pounce_site_started_jobs{" in text and "pounce_site_gpu_held_seconds" not in text


def test_a_store_has_the_past_when_slurmdbd_is_away_and_the_gap_is_told(program, run):
    assert usage(["collect", "--quiet", "--from", "yesterday"]) == 0
    lines = run("--site").splitlines()
    assert 'pounce_site_gpu_held_seconds{account="lab3",class="lion"} 14400.0' in lines and "pounce_site_gap_seconds 0.0" in lines
    assert [line for line in lines if line.startswith("pounce_site_store_until_seconds ") and float(line.split()[1]) == NOW]

    (program / "jobs.json").unlink()
    lines = run("--site").splitlines()
    assert 'pounce_site_gpu_held_seconds{account="lab3",class="lion"} 14400.0' in lines and 'pounce_exporter_success{source="usage"} 1.0' in lines
    assert [line for line in lines if line.startswith("pounce_site_gap_seconds ") and float(line.split()[1]) > 0]


def test_without_a_daemon_it_is_down_and_that_is_no_failure_of_the_exporter(program, run):
    (program / "status.json").unlink()
    text = run()
    assert "pounce_up 0.0" in text and 'pounce_exporter_success{source="pounced"} 1.0' in text and "pounce_saved_state_bytes 1024.0" in text


def test_an_answer_that_is_not_understood_is_a_source_that_fails(program, run, capfd):
    (program / "status.json").write_text('{"leases": 7}')
    assert 'pounce_exporter_success{source="pounced"} 0.0' in run()
    (program / "top.json").write_text(json.dumps({"error": {"code": "slurm_unreachable", "text": "slurmctld did not answer", "remedy": "Wait."}}))
    text = run("--site")
    assert "pounce_site_up 0.0" in text and 'pounce_exporter_success{source="queue"} 0.0' in text and "pounce_site_jobs" not in text


def test_a_trouble_is_said_once_and_again_when_it_is_another():
    said, troubles = [], iter(["a", "a", "b", "", "b"])

    def look():
        trouble = next(troubles)
        if trouble:
            raise PounceError(trouble, "")
        return {}

    source = Source("queue", 60, look)
    sources = Sources([source], said.append)
    for _ in range(5):
        sources.look_at(source)
    assert said == ["queue: a.", "queue: b.", "queue: b."]


# ---- the command -----------------------------------------------------------------------------------------------------


def test_without_the_library_the_command_says_how_to_install_it(program, run, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("prometheus_client")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    assert run(code=1) == ("pouncectl metrics: pouncectl metrics needs the Python package prometheus_client, which is not installed here. "
                           "Install it beside pounce: python -m pip install prometheus_client.\n")


@pytest.mark.parametrize("words", [("--listen", "1", "--textfile", "a.prom"), ("--once", "--listen", "1"), ("--every", "5s"), ("--window", "1d"),
                                   ("--textfile", "pounce.txt"), ("--listen", "h:99999"), ("--listen", "no.such.host.invalid:1"), ("--listen", "127.0.0.1"),
                                   ("--listen", "1", "--every", "0.1s"), ("--sites",), ("--site", "--accounts", "0"), ("more",)])
def test_what_makes_no_sense_is_refused_with_a_remedy(program, run, words):
    assert re.match(r"pouncectl metrics: .+[.?] .+\.$", run(*words, code=2))


def test_a_reader_that_has_gone_is_no_error(program):
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert (process.stderr.read(), process.wait(60)) == (b"", 0)
    process.stderr.close()


def test_help_names_every_option(run):
    page = run("--help")
    assert all(option.word in page and option.about in page for option in command._OPTIONS)


# ---- the file --------------------------------------------------------------------------------------------------------


def test_a_file_is_replaced_whole_and_its_counters_go_on(program, run):
    file = program / "pounce.prom"
    (program / "status.json").write_text(json.dumps(status()))
    run("--textfile", str(file), "--once")
    first = file.stat().st_ino
    (program / "status.json").write_text(json.dumps(status([lease("1", ready_after_s=4.0)])))
    run("--textfile", str(file), "--once")
    run("--textfile", str(file), "--once")

    assert 'pounce_lease_starts_total{class="lion"} 1.0' in file.read_text()
    assert file.stat().st_ino != first  # a new file in the old one's place: a reader has one or the other
    assert sorted(path.name for path in program.iterdir() if "pounce" in path.name) == [".pounce.counted", "pounce.prom"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o644 and stat.S_IMODE((program / ".pounce.counted").stat().st_mode) == 0o600


def test_a_file_that_cannot_be_written_is_an_error_and_leaves_nothing(program, run, tmp_path):
    assert "cannot be written: No such file or directory. Name a file" in run("--textfile", str(tmp_path / "no" / "a.prom"), "--once", code=1)
    with pytest.raises(BadRequest, match="ends in .prom"):
        TextFile(tmp_path / "a.txt")


# ---- the server ------------------------------------------------------------------------------------------------------


@pytest.fixture
def served():
    made = MetricsServer(address_of("127.0.0.1:0"))
    made.publish(b"pounce_up 1.0\n")
    return made


def test_a_scrape_gets_the_last_text_and_anything_else_is_refused(served):
    with urllib.request.urlopen(served.address.url, timeout=10) as answer:
        assert answer.read() == b"pounce_up 1.0\n" and answer.headers["Content-Type"] == exposition.CONTENT_TYPE
    for method, path, code in (("GET", "/secret", 404), ("POST", "/metrics", 405)):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(urllib.request.Request(served.address.url.replace("/metrics", path), method=method), timeout=10)
        assert refused.value.code == code
        refused.value.close()
    assert answer_to(b"HEAD /metrics?x=1 HTTP/1.1", b"text").endswith(b"\r\n\r\n") and answer_to(b"nonsense", b"").startswith(b"HTTP/1.1 400 ")


def test_peers_that_say_nothing_or_too_much_hold_up_no_scrape(served, monkeypatch):
    monkeypatch.setattr(server, "_DEADLINE_S", 0.2)
    silent = [socket.create_connection(("127.0.0.1", served.address.port)) for _ in range(server._MOST_CONNECTIONS + 8)]
    silent[-1].sendall(b"GET /" + b"x" * 20_000)
    with urllib.request.urlopen(served.address.url, timeout=10) as answer:
        assert answer.status == 200
    for each in silent:  # each is cut: the oldest for room, the others after their time
        each.settimeout(10)
        try:
            assert each.recv(1) == b""
        except ConnectionResetError:
            pass
        each.close()


def test_a_taken_port_is_an_error_with_its_cause(served, run):
    assert "cannot be listened at: Address already in use" in run("--listen", f"127.0.0.1:{served.address.port}", code=1)


@pytest.mark.parametrize("text, host, is_loopback", [("9790", "127.0.0.1", True), (":9790", "127.0.0.1", True), ("[::1]:9790", "::1", True), ("0.0.0.0:9790", "0.0.0.0", False)])
def test_an_address_without_a_host_is_this_machines_own(text, host, is_loopback):
    found = address_of(text)
    assert (found.host, found.port, found.is_loopback) == (host, 9790, is_loopback)


def test_it_serves_until_it_is_told_to_end_and_says_once_that_others_can_read(program, tmp_path):
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, "--listen", "0.0.0.0:0", "--every", "1s"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    timer = threading.Timer(60, process.kill)
    timer.start()
    url = process.stdout.readline().split()[0].replace("0.0.0.0", "127.0.0.1")
    text = ""
    while "pounce_saved_states" not in text:
        with urllib.request.urlopen(url, timeout=10) as answer:
            text = answer.read().decode()
    process.terminate()
    _, errors = process.communicate(timeout=30)
    timer.cancel()
    assert process.returncode == 0 and "pounce_up 1.0" in text
    assert errors == "pouncectl metrics: all machines that reach this address can read these figures\n"


# ---- what is shipped beside it ---------------------------------------------------------------------------------------

NAME = re.compile(r"\bpounce_\w+")
KNOWN = {name for family in FAMILIES.values() for name in series_of(family)}


@pytest.mark.parametrize("where, least", [("dashboard", 40), ("alerts", 13)])
def test_what_is_shipped_uses_only_metrics_that_there_are(where, least):
    found = expressions()[where]
    assert len(found) >= least and all(NAME.search(expression) for expression in found)
    assert {name for expression in found for name in NAME.findall(expression)} - KNOWN == set()


def test_every_metric_is_on_the_dashboard():
    shown = {name for expression in expressions()["dashboard"] for name in NAME.findall(expression)}
    assert [family.name for family in FAMILIES.values() if not shown & set(series_of(family))] == []


def test_the_page_has_a_row_for_each_metric():
    rows = re.findall(r"^\| `(pounce_\w+)(?:\{([\w,]+)\})?` \| (\w+) \| (.+) \|$", (ROOT / "docs" / "prometheus.md").read_text(), re.M)
    assert rows == [(family.name, ",".join(family.labels), family.kind, family.about) for family in (*OWN, *SITE, *EXPORTER)]


def test_what_the_page_shows_is_taken_by_the_command(run):
    page = (ROOT / "docs" / "prometheus.md").read_text()
    lines = [line for block in re.findall(r"^```sh\n(.*?)^```", page, re.M | re.S) for line in block.splitlines()]
    lines += re.findall(r"^ExecStart=/usr/bin/(.*)$", page, re.M)
    assert len(lines) == 4
    for line in lines:
        name, command_name, *words = shlex.split(line, comments=True)
        assert (name, command_name) == ("pouncectl", "metrics")
        command._check(parsed("metrics", words, command._OPTIONS)[0])
    named = re.findall(r"`(--[a-z]+)", page.split("## The metrics")[0])
    assert {option.word for option in command._OPTIONS} <= set(named)


@needs_promtool
def test_promtool_takes_the_alert_rules_and_their_own_tests():
    for words in (("check", "rules", "alerts.yml"), ("test", "rules", "alerts_test.yml")):
        done = subprocess.run(["promtool", *words], cwd=MONITORING, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_test_in_which_it_fires():
    alerts = re.findall(r"alert: (\w+)", (MONITORING / "alerts.yml").read_text())
    tests = (MONITORING / "alerts_test.yml").read_text()
    assert [alert for alert in alerts if f'alertname="{alert}"' not in tests and f"alertname: {alert}\n        eval_time: 30m" not in tests] == []
