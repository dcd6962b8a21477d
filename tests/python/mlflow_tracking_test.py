"""What code on a worker logs reaches MLflow's server, also when that is away, loses answers or refuses the password; and the
system metrics are the lease's. On a real server with users, behind a proxy that can be told to fail."""

from __future__ import annotations

import http.client
import http.server
import os
import re
import threading
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from conftest import made_home
from mlflow_test import SECOND, Server
from pounce._common.machine import Mount, boot_id
from pounce._worker.tracking import leased_gpus, spool
from pounce._worker.tracking.lease_meter import LeaseMeter
from pounce._worker.tracking.records import added_tag, contents, first_request, in_words
from pounce._worker.tracking.spool import Full, Spool

pytest.importorskip("mlflow")
pytestmark = pytest.mark.xdist_group("mlflow_tracking")
ADMIN, FIRST, SECOND_PASSWORD, THIRD = "admins-0wn-s3cret", "adas-f1rst-s3cret", "adas-sec0nd-s3cret", "adas-th1rd-s3cret"


class Proxy(http.server.ThreadingHTTPServer):
    """In front of a server. `mode` is one of "pass", "away" (no answer), "lose" (the server has it, and its answer is lost), "503";
    GET /mode?... sets it and tells how many requests the one before has seen."""

    daemon_threads = True

    def __init__(self, server: str):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.server, self.mode, self.seen = urlsplit(server).netloc, "pass", 0
        self.address = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except ConnectionError:  # of a client that has given up
            self.close_connection = True

    def _pass_on(self):
        proxy = self.server
        if self.path.startswith("/mode?"):
            seen, proxy.seen, proxy.mode = proxy.seen, 0, self.path.partition("?")[2]
            return self._answer(200, str(seen).encode())
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        proxy.seen += 1
        if proxy.mode == "503":
            return self._answer(503, b"busy")
        if proxy.mode != "away":
            connection = http.client.HTTPConnection(proxy.server, timeout=120)
            connection.request(self.command, self.path, data, {**self.headers, "Connection": "close", "Host": proxy.server})
            with connection.getresponse() as answer:
                status, content = answer.status, answer.read()
            connection.close()
            if proxy.mode == "pass":
                return self._answer(status, content)
        self.close_connection = True

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass_on

    def _answer(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    pytest.importorskip("flask_wtf")
    folder = tmp_path_factory.mktemp("mlflow")
    users = folder / "users.ini"
    users.write_text(f"[mlflow]\ndefault_permission = MANAGE\ndatabase_uri = sqlite:///{folder}/users.db\nadmin_username = admin\n"
                     f"admin_password = {ADMIN}\nauth_cache_ttl_seconds = 3600\n")
    made = Server(folder, ("--app-name", "basic-auth"),
                  {"MLFLOW_AUTH_CONFIG_PATH": str(users), "MLFLOW_FLASK_SERVER_SECRET_KEY": "for-tests"}, f"admin:{ADMIN}")
    made.wait()
    made.ask("users/create", username="ada", password=FIRST)
    yield made
    made.kill()  # its orderly end takes a second of a processor


@pytest.fixture(scope="module")
def proxy(server):
    made = Proxy(server.address)
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture(scope="module")
def tracking_home(proxy):
    with made_home() as home:
        home.environment |= {"MLFLOW_TRACKING_URI": proxy.address, "MLFLOW_DISABLE_TELEMETRY": "true",
                             "MLFLOW_TRACKING_USERNAME": "ada", "MLFLOW_TRACKING_PASSWORD": FIRST}
        yield home


BEGIN = """
    import urllib.request
    def mode(word):
        with urllib.request.urlopen(os.environ["MLFLOW_TRACKING_URI"] + "/mode?" + word, timeout=60) as answer:
            return int(answer.read())
    def until(condition, what):
        deadline = time.monotonic() + 90
        while not (found := condition()):
            assert time.monotonic() < deadline, what
            time.sleep(0.05)
        return found
    import mlflow
    mlflow.set_experiment("kept")
    run = mlflow.start_run().info.run_id
    client = pounce.Client()
    reads = mlflow.MlflowClient()
    def history(key, run=run):
        return [(one.step, one.value) for one in reads.get_metric_history(run, key)]
    def logs(key, first, most):
        import mlflow
        for step in range(first, most):
            mlflow.log_metric(key, step / 2, step)
        return os.getpid()
"""

AWAY = BEGIN + """
    def kept_files():
        root = os.path.join(os.environ["HOME"], ".local", "state", "pounce")
        return [os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names if "/mlflow/" in folder]
    def logs_much():
        import mlflow
        for step in range(200):
            mlflow.log_metric("m", step / 2, step)
        mlflow.log_metrics({"x": 1, "y": 2}, 7)
        mlflow.log_metric("late", 5, 5, synchronous=False)
        mlflow.log_param("p", "kept")
        mlflow.log_params({"q": 1, "r": 2})
        mlflow.set_tag("t", "first")
        mlflow.set_tag("t", "second")
        mlflow.log_text("said while it was away", "folder/said.txt")
        with open("own.bin", "wb") as file:
            file.write(bytes(range(256)))
        mlflow.log_artifact("own.bin")
        return [oct(os.stat(path).st_mode)[-3:] + oct(os.stat(os.path.dirname(path)).st_mode)[-3:] for path in kept_files()]
    client.submit(logs, "before", 0, 3).result()
    mode("away")
    modes = client.submit(logs_much).result()
    mode("503")
    client.submit(logs, "m", 200, 203).result()
    report(run=run, seen=mode("pass"), modes=modes)
    until(lambda: len(history("m")) >= 203, "what was kept has arrived")
    client.submit(logs, "after", 0, 3).result()
    report(m=sorted(history("m")), latest=reads.get_run(run).data.metrics, after=sorted(history("after")))

    mode("lose")
    client.submit(logs, "lost", 0, 40).result()
    mode("pass")
    until(lambda: len(history("lost")) >= 40, "what had no answer has arrived")
    client.submit(logs, "lost", 40, 41).result()
    report(lost=sorted(history("lost")))

    def dies():
        import mlflow
        run = mlflow.active_run().info.run_id
        mlflow.log_metric("of the dead", 1, 1)
        child = os.fork()
        if not child:
            mlflow.log_metric("of the child", 1, 1, run_id=run)
            os._exit(0)
        os.waitpid(child, 0)
        os._exit(7)
    mode("away")
    report(died=error_of(client.submit(dies).result)["type"])
    mode("pass")
    client.submit(logs, "next", 0, 1).result()
    until(lambda: history("of the dead") and history("of the child"), "the next worker has sent it")
    report(dead=history("of the dead"), child=history("of the child"))

    os.environ["MLFLOW_POUNCE_SPOOL_MIB"] = "0"
    def dies_again():
        os._exit(7)
    error_of(client.submit(dies_again).result)
    mode("away")
    client.submit(logs, "full", 0, 5).result()
    mode("pass")
    missing = lambda: reads.get_run(run).data.tags.get("pounce.missing")
    until(lambda: "metrics" in (missing() or ""), "the run says what is missing")
    report(full=missing())
    del os.environ["MLFLOW_POUNCE_SPOOL_MIB"]
    error_of(client.submit(dies_again).result)
    def changes():
        import mlflow
        mlflow.log_params({"p": "another", "s": 1})
    mode("away")
    client.submit(changes).result()
    mode("pass")
    until(lambda: "refused" in missing(), "the run says what was refused")
    report(refused=missing(), raised=error_of(client.submit(changes).result)["type"])
    client.close()
    until(lambda: not kept_files(), "nothing waits, and no file is left")
"""


@pytest.fixture(scope="module")
def away(tracking_home):
    return tracking_home.run(AWAY, seconds=400)


def test_code_goes_on_while_the_server_is_away_and_all_of_it_arrives_once_and_in_order(away, server):
    facts = away.reports
    run = server.run(facts["run"])

    assert facts["m"] == [[step, step / 2] for step in range(203)]
    assert facts["latest"]["m"] == 101 and run.metrics["x"] == 1 and run.metrics["late"] == 5 and run.params["p"] == "kept"
    assert run.params["r"] == "2" and run.tags["t"] == "second"
    assert facts["after"] == [[0, 0], [1, 0.5], [2, 1]]
    assert facts["seen"] < 100, "over 200 requests of the code: it does not wait for each"


def test_artifacts_arrive_too(away, server):
    assert server.files(away.reports["run"]) == ["folder", "own.bin"]


def test_what_waits_is_the_users_alone(away):
    assert away.reports["modes"] and set(away.reports["modes"]) == {"600700"}


def test_what_the_server_has_and_did_not_answer_is_there_once(away):
    assert away.reports["lost"] == [[step, step / 2] for step in range(41)]


def test_what_a_dead_worker_and_its_child_kept_the_next_one_sends(away):
    assert away.reports["died"] == "WorkerCrashed"
    assert away.reports["dead"] == away.reports["child"] == [[1, 1]]


def test_the_run_says_what_is_missing(away):
    full, refused = (away.reports[kind] for kind in ("full", "refused"))

    metrics = [int(count) for count in re.findall(r"(\d+) metrics? not kept for want of room", full)]  # of one worker or of two
    assert sum(metrics) == 5 and refused == f"{full}; 2 params refused by the server"
    assert away.reports["raised"] == "RestException", "while the server answers, errors are raised as anywhere"


def test_each_time_it_is_away_one_line_says_so(away):
    lines = away.stderr.splitlines()
    told, full = ([line for line in lines if words in line] for words in ("does not answer: what is logged is kept in", "is no longer kept"))

    assert 5 <= len(told) < 20, "one for each time and process, not for each of the requests"
    assert len(full) == 1 and "(0 MiB wait in" in full[0]


# ---- passwords ----

RENEWED = BEGIN + """
    admin = {admin!r}
    def changes_password(new):
        import base64
        headers = {{"Content-Type": "application/json", "Authorization": "Basic " + base64.b64encode(b"admin:" + admin.encode()).decode()}}
        body = json.dumps({{"username": "ada", "password": new}}).encode()
        address = os.environ["MLFLOW_TRACKING_URI"] + "/api/2.0/mlflow/users/update-password"
        urllib.request.urlopen(urllib.request.Request(address, body, headers, method="PATCH"), timeout=60).close()
    def there(name):
        return until(lambda: os.path.exists(name), name)
    def touch(name):
        open(name, "w").close()
    def trains(*backwards):  # so that no record of the call has them
        import mlflow
        second, third = (word[::-1] for word in backwards)
        mlflow.log_metric("t", 0, 0)
        touch("begun")
        there("first renewed")
        mlflow.log_metric("t", 1, 1)
        now = os.environ["MLFLOW_TRACKING_PASSWORD"] == second
        changes_password(third)
        for step in range(2, 10):
            mlflow.log_metric("t", step, step)
        touch("refused")
        there("second renewed")
        def goes_on():
            mlflow.log_metric("more", 1)
            return os.environ["MLFLOW_TRACKING_PASSWORD"] == third
        until(goes_on, "the worker has the third password")
        return now
    future = client.submit(trains, {second!r}[::-1], {third!r}[::-1])
    until(lambda: os.path.exists("begun") or future.done() and future.result(), "the call has begun")
    changes_password({second!r})
    os.environ["MLFLOW_TRACKING_PASSWORD"] = {second!r}
    touch("first renewed")
    there("refused")
    os.environ["MLFLOW_TRACKING_PASSWORD"] = {third!r}
    touch("second renewed")
    report(renewed=future.result())
    until(lambda: len(history("t")) >= 10, "what was refused has arrived")
    report(t=sorted(history("t")))
    client.submit(logs, "saves", 0, 1).result()
    leaks, count = files_with({first!r}, {second!r}, {third!r})
    report(leaks=leaks, files=count)
"""


def test_a_password_that_is_renewed_while_a_call_runs_reaches_it_and_nothing_is_lost(tracking_home):
    run = tracking_home.run(RENEWED.format(admin=ADMIN, first=FIRST, second=SECOND_PASSWORD, third=THIRD), seconds=300)
    tracking_home.environment["MLFLOW_TRACKING_PASSWORD"] = THIRD
    lines = [line for line in run.stderr.splitlines() if "refuses the token or password" in line]

    assert run.reports["renewed"] is True, "the notebook had a new one already: no line, and nothing waits"
    assert run.reports["t"] == [[step, step] for step in range(10)]
    assert len(lines) == 1 and "(401)" in lines[0]
    assert run.reports["leaks"] == [] and run.reports["files"] > 3


# ---- system metrics ----

MEASURED = BEGIN + """
    os.environ |= {"MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING": "true", "MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL": "0.1"}
    def measured(run, prefix):
        import mlflow
        until(lambda: any(key.startswith(prefix) for key in mlflow.get_run(run).data.metrics), "there are figures of the lease")
    def rank(run):
        measured(run, f"system/{os.uname().nodename}/rank{pounce.rank().rank}/")
    def own():
        import mlflow
        with mlflow.start_run(nested=True) as child:
            measured(child.info.run_id, "system/")
        return child.info.run_id
    client.submit(measured, run, "system/").result()
    with client.gang(workers=2) as gang:
        gang.run(rank, run)
    child = client.submit(own).result()
    report(keys=[*reads.get_run(run).data.metrics], child=[*reads.get_run(child).data.metrics], node=os.uname().nodename)
"""


def test_system_metrics_are_those_of_the_lease_one_series_for_each_rank(tracking_home):
    facts = tracking_home.run(MEASURED, seconds=240).reports
    figures = ["cpu_utilization_percentage", "system_memory_usage_megabytes"]

    of_node = [f"system/{facts['node']}/{rank}{name}" for rank in ("", "rank0/", "rank1/") for name in figures]
    assert [key for key in of_node if key not in facts["keys"]] == []
    assert all(key.startswith(f"system/{facts['node']}/") for key in facts["keys"] + facts["child"])
    assert not any("disk" in key or "network" in key for key in facts["keys"] + facts["child"]), "MLflow's monitor of the whole node"


def test_the_figures_are_those_of_the_jobs_control_group(tmp_path):
    group = tmp_path / "scope" / "job_12"
    group.mkdir(parents=True)
    own = tmp_path / "own"
    own.write_text("0::/scope/job_12/step_0/user/task_0\n")
    for name, text in {"cpu.stat": "usage_usec 1000000\nuser_usec 1\n", "memory.current": "5000000\n", "memory.max": "8000000\n",
                       "memory.stat": "anon 7\ninactive_file 1000000\n"}.items():
        (group / name).write_text(text)
    meter = LeaseMeter("", str(own), str(tmp_path))
    (group / "cpu.stat").write_text("usage_usec 9000000000000\n")

    assert meter.look() == {"cpu_utilization_percentage": 100, "system_memory_usage_megabytes": 4, "system_memory_usage_percentage": 50}
    assert meter.look()["cpu_utilization_percentage"] == 0


class Driver:
    """NVML of two GPUs, the second of which is a slice."""

    nvmlInit_v2 = staticmethod(lambda: 0)

    def nvmlDeviceGetHandleByIndex_v2(self, index, device):
        device._obj.value = 100 + index
        return 0

    def nvmlDeviceGetHandleByUUID(self, name, device):
        device._obj.value = 200
        return 0 if name == b"MIG-a" else 6

    def nvmlDeviceGetUtilizationRates(self, device, use):
        use._obj.gpu = 40
        return 0 if device.value < 200 else 3

    def nvmlDeviceGetMemoryInfo_v2(self, _, memory):
        memory._obj.used, memory._obj.total = 2_000_000, 8_000_000
        return 0 if memory._obj.version else 1


def test_the_figures_of_gpus_are_those_of_the_leased_ones(monkeypatch):
    assert leased_gpus.LeasedGpus("0", "libnot-there.so.1").look() == {}
    monkeypatch.setattr(leased_gpus, "ctypes", SimpleNamespace(**{**vars(leased_gpus.ctypes), "CDLL": lambda _: Driver()}))

    assert leased_gpus.LeasedGpus("3,MIG-a,GPU-gone").look() == {
        "gpu_0_utilization_percentage": 40, "gpu_0_memory_usage_megabytes": 2, "gpu_0_memory_usage_percentage": 25,
        "gpu_1_memory_usage_megabytes": 2, "gpu_1_memory_usage_percentage": 25}
    assert leased_gpus.LeasedGpus("").look() == {}


# ---- what waits ----

def metric(key, step, run="a"):
    return {"api": "LogMetric", "body": {"run_id": run, "run_uuid": run, "key": key, "value": 1.0, "timestamp": 9, "step": step}}


def tag(key, value, run="a"):
    return {"api": "SetTag", "body": {"run_id": run, "run_uuid": run, "key": key, "value": value}}


def test_consecutive_records_of_a_run_are_one_request():
    batch, count = first_request([metric("m", 0), metric("m", 1), tag("t", "1"), metric("m", 2, run="b")])

    assert count == 3 and batch["api"] == "LogBatch" and batch["body"]["run_id"] == "a"
    assert [one["step"] for one in batch["body"]["metrics"]] == [0, 1] and batch["body"]["tags"] == [{"key": "t", "value": "1"}]
    assert in_words(contents(batch)) == "2 metrics, 1 tag"


@pytest.mark.parametrize("second", [tag("t", "2"), tag("u", "1", run="b"), {"api": "UpdateRun", "body": {"run_id": "a"}},
                                    {"file": "http://host/f", "path": None, "run": "a"}, added_tag("a", "u", "1")])
def test_a_record_that_would_not_be_the_same_in_a_batch_is_a_request_of_its_own(second):
    assert first_request([tag("t", "1"), second]) == (tag("t", "1"), 1)


def test_a_batch_is_as_large_as_the_server_takes():
    batch, count = first_request([metric("m", step) for step in range(1500)])

    assert count == len(batch["body"]["metrics"]) == 1000


def drained(kept):
    records, ends = kept.oldest()
    if ends:
        kept.sent(ends[-1])
    return records


def test_a_spool_gives_records_back_in_order_and_leaves_nothing(tmp_path):
    folder = tmp_path / "mlflow" / "server"
    kept = Spool(str(folder), 1 << 20)

    for step in range(3):
        kept.append(metric("m", step))
    records, ends = kept.oldest()
    kept.sent(ends[0])

    assert records == [metric("m", step) for step in range(3)] and drained(kept) == records[1:]
    assert not kept and list(Spool.left(str(folder))) == []
    kept.close()
    assert list(folder.iterdir()) == []


def test_a_spool_is_bounded_and_what_was_sent_makes_room(tmp_path):
    kept, taken = Spool(str(tmp_path / "mlflow" / "server"), 4000), 0
    with pytest.raises(Full, match="MiB wait in"):
        while True:
            kept.append(metric("m", taken))
            taken += 1

    _, ends = kept.oldest()
    kept.sent(ends[taken - 3])
    kept.append(metric("m", taken))

    assert 20 < taken < 40 and [record["body"]["step"] for record in drained(kept)] == [taken - 2, taken - 1, taken]
    (tmp_path / "large").write_bytes(bytes(5000))
    with pytest.raises(Full):
        kept.copy(str(tmp_path / "large"))
    kept.close()


@pytest.mark.parametrize("filesystem, options, is_taken", [
    ("nfs4", {"local_lock=none"}, True), ("nfs4", {"local_lock=all"}, False), ("ext4", set(), True), ("fuse.sshfs", set(), False)])
def test_a_spool_of_another_node_is_taken_where_its_lock_would_be_seen_here(filesystem, options, is_taken):
    assert spool.is_left("another-boot.0a.spool", Mount(filesystem, frozenset(options))) == is_taken
    assert spool.is_left(f"{boot_id()}.0a.spool", Mount(filesystem, frozenset(options)))


def test_a_spool_whose_process_is_gone_is_read_on_without_what_was_cut_off(tmp_path):
    folder = str(tmp_path / "mlflow" / "server")
    child = os.fork()
    if not child:
        kept = Spool(folder, 1 << 20)
        for step in range(3):
            kept.append(metric("m", step))
        _, ends = kept.oldest()
        kept.sent(ends[0])
        os.write(os.open(next(os.path.join(folder, name) for name in os.listdir(folder)), os.O_WRONLY | os.O_APPEND), b'{"api": "Log')
        os._exit(0)
    os.waitpid(child, 0)
    living = Spool(folder, 1 << 20)
    living.append(metric("m", 9))

    (left,) = Spool.left(folder)

    assert drained(left) == [metric("m", 1), metric("m", 2)] and drained(left) == [] and not left
    left.close()
    assert len(os.listdir(folder)) == 1, "the living one's"
    living.close()


# ---- the last 2.x ----

def test_the_last_2_x_keeps_and_sends_too(tracking_home):
    if not SECOND.is_dir():
        pytest.skip(f"no MLflow 2 in {SECOND}")
    tracking_home.environment["PYTHONPATH"] = str(SECOND)
    try:
        facts = tracking_home.run("    import warnings\n    warnings.simplefilter('ignore')" + BEGIN + """
    mode("away")
    def logs_some():
        import mlflow
        for step in range(50):
            mlflow.log_metric("m", step, step)
        mlflow.log_params({"p": 1})
        mlflow.log_text("said", "said.txt")
        return mlflow.__version__
    version = client.submit(logs_some).result()
    mode("pass")
    until(lambda: len(history("m")) >= 50, "what was kept has arrived")
    files = until(lambda: reads.list_artifacts(run), "the artifact has arrived")
    report(version=version, m=sorted(history("m")), p=reads.get_run(run).data.params, files=[file.path for file in files])
    """, seconds=240).reports
    finally:
        del tracking_home.environment["PYTHONPATH"]

    assert facts["version"].startswith("2.") and facts["m"] == [[step, step] for step in range(50)]
    assert facts["p"] == {"p": "1"} and facts["files"] == ["said.txt"]
