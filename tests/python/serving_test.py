"""pounce.serve: how many workers, what a request costs and gets, what strangers get, and the endpoints that a terminal finds."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import made_home
from pounce import errors
from pounce._worker.serving import _folders, Answer, downloads_that_end_with_this_process, load, Source
from pounce._worker.serving import answer as answered
from pounce.cell import served
from pounce.cell.options_line import parse_verb
from pounce.serving import command, connection, control, endpoint_files, listener
from pounce.serving.connection import Connection
from pounce.serving.endpoint_files import Entry
from pounce.serving.listener import Listener
from pounce.serving.scaling import CALM_S, PRESSURE_S, Load, to_end, to_start, to_withdraw
from pounce.serving.source import idle_of, name_of, source_of, workers_of
from pounce.serving.worker import NotServed
from pounce.serving.workers import CallerGone, Workers

TOKEN = "t0ken-of-this-test"
SECONDS = 90


def admits(path: str, token: str) -> bool:
    return token == TOKEN


def until(condition) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


# ---- how many workers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("changes, started", [
    ({}, 0),
    ({"waiting": 1}, 1),                                                     # the first comes with the first request
    ({"waiting": 9, "starting": 1, "pressed_s": 99}, 0),                     # a burst while it starts brings no second
    ({"waiting": 1, "ready": 1, "pressed_s": PRESSURE_S / 2}, 0),
    ({"waiting": 1, "ready": 1, "pressed_s": PRESSURE_S}, 1),                # they wait without a break
    ({"waiting": 1, "ready": 1, "starting": 1, "pressed_s": 99}, 0),         # one after another
    ({"waiting": 1, "ready": 4, "pressed_s": 99}, 0),
    ({"least": 2}, 2),
    ({"least": 2, "keeps_least": False}, 0),                                 # the model cannot be loaded: not again and again
    ({"least": 2, "keeps_least": False, "waiting": 1}, 1),
])
def test_workers_come_with_requests_and_one_by_one_under_load(changes, started):
    assert to_start(load_with(**changes)) == started


@pytest.mark.parametrize("changes, withdrawn", [
    ({"starting": 2, "calm_s": CALM_S}, 2),
    ({"starting": 2, "calm_s": CALM_S / 2}, 0),
    ({"starting": 2, "calm_s": CALM_S, "least": 1}, 1),
    ({"starting": 1, "calm_s": CALM_S, "waiting": 1}, 0),
])
def test_workers_to_come_are_withdrawn_when_no_request_waits_any_more(changes, withdrawn):
    assert to_withdraw(load_with(**changes)) == withdrawn


def test_workers_that_answered_nothing_for_long_go_back_but_for_the_least():
    assert to_end(load_with(ready=3), [700, 650, 5], 600) == 2
    assert to_end(load_with(ready=3, least=2), [700, 650, 5], 600) == 1
    assert to_end(load_with(ready=1, least=1), [700], 600) == 0


def load_with(**changes) -> Load:
    return Load(**{"least": 0, "most": 4, "ready": 0, "starting": 0, "waiting": 0, "pressed_s": 0, "calm_s": 0, "keeps_least": True, **changes})


# ---- what cannot be served -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call, words", [
    (lambda: source_of("digits"), "'digits' is no address of a model"),
    (lambda: source_of("model:/digits/3"), "did you mean models?"),
    (lambda: source_of("models:/"), "'models:/' names no model"),
    (lambda: source_of(3), "not 3"),
    (lambda: workers_of("4:1"), "not '4:1'"),
    (lambda: workers_of("0:0"), "not '0:0'"),
    (lambda: workers_of("0:65"), "1 to 64"),
    (lambda: workers_of(True), "not True"),
    (lambda: idle_of(-1), "not -1"),
    (lambda: idle_of("soon"), "not 'soon'"),
    (lambda: idle_of(float("nan")), "not nan"),
    (lambda: name_of("../x"), "not '../x'"),
    (lambda: command.parsed(["models:/digits/3", "--gpus", "1"]), "did you mean --gpu?"),
    (lambda: command.parsed(["--gpu", "1"]), "not none"),
    (lambda: served.line(["stp", "x"]), "did you mean stop?"),
])
def test_a_wrong_word_is_named(call, words):
    with pytest.raises(errors.BadRequest) as found:
        call()
    assert words in found.value.text and found.value.remedy


def test_a_function_that_cannot_travel_is_refused_when_it_is_served():
    lock = threading.Lock()
    with pytest.raises(errors.NotPicklable, match="lock"):
        source_of(lambda value: lock)


def test_an_endpoint_has_a_short_name_of_its_model():
    assert [source_of(uri).name for uri in ("models:/digits/3", "models:/digits@champion", "runs:/6b0c/model", "/data/best", "./m")] == [
        "digits", "digits", "model", "best", "m"]


# ---- what a worker answers -----------------------------------------------------------------------------------------------


def on_worker(function, body: bytes, monkeypatch) -> tuple[int, dict]:
    monkeypatch.setattr("pounce._worker.interpreter.core", SimpleNamespace(tell_held=lambda: None, tell_state=lambda word: None))
    monkeypatch.setattr("pounce._worker.cell.held._held", False)  # of this process: it is held from here on, and not behind the test
    id = os.urandom(4).hex()
    assert load(id, Source("f", function=source_of(function).function)).problem == ""
    answer = answered(id, body, "application/json")
    return answer.status, json.loads(answer.body)


def raises(error):
    def f(_):
        raise error
    return f


class Array:
    def tolist(self):
        return [1.5]


@pytest.mark.parametrize("function, body, status, words", [
    (len, b"[1, 2]", 200, 2),
    (lambda value: {"a": Array()}, b"0", 200, {"a": [1.5]}),
    (len, b"{", 400, "the body is no JSON: JSONDecodeError"),
    (len, b"\xff", 400, "the body is no JSON"),
    (len, b"[" * 100_000, 400, "the body is no JSON: RecursionError"),
    (raises(ValueError("seven is too many")), b"7", 400, "f raised ValueError: seven is too many"),
    (raises(KeyError("w")), b"7", 500, "f raised KeyError: 'w'"),
    (raises(SystemExit(3)), b"7", 500, "f raised SystemExit: 3"),
    (lambda value: object, b"7", 500, "f returned a type, which JSON cannot hold"),
    (lambda value: float("nan"), b"7", 500, "f returned a float, which JSON cannot hold"),
])
def test_a_function_gets_the_body_and_its_errors_are_one_sentence(function, body, status, words, monkeypatch):
    found, answer = on_worker(function, body, monkeypatch)

    assert found == status
    if status == 200:
        assert answer == words
    else:
        assert words in answer["message"] and "pounce" not in answer["message"] and answer["type"]


def test_a_model_that_needs_a_package_names_it(tmp_path, monkeypatch):
    class Missing:
        def load_model(self, uri):
            try:
                raise ModuleNotFoundError("No module named 'xgboost.core'", name="xgboost.core")
            except ModuleNotFoundError as error:
                raise RuntimeError("the model cannot be read") from error

    monkeypatch.setattr("pounce._worker.serving._model", lambda uri: Missing().load_model(uri))

    loaded = load("x", Source("digits", "models:/digits/3"))

    assert loaded.type == "ModuleNotFoundError" and "models:/digits/3 needs the package xgboost, which the worker's Python lacks" in loaded.problem


def test_what_mlflow_downloads_for_a_model_is_there_as_long_as_the_process():
    before = tempfile.gettempdir()
    with downloads_that_end_with_this_process():
        folder = Path(tempfile.mkdtemp())
    lasted, after = folder.exists(), tempfile.gettempdir()
    _folders.remove()  # at the end

    assert lasted and after == before and folder.parent.name == "models" and not folder.parent.parent.exists()


# ---- requests and workers ------------------------------------------------------------------------------------------------


class FakeWorker:
    """Answers what it is told to; `begins` is waited for."""

    def __init__(self, lab):
        self.lab, self.version, self.used_at, self.ended = lab, "", 0.0, False

    def begin(self):
        self.lab.begun.append(self)
        assert self.lab.begins.wait(SECONDS)
        if self.lab.refusal:
            raise self.lab.refusal

    def answer(self, body, kind):
        return self.lab.answer(self, body)

    def is_there(self):
        return True

    def leases(self):
        return []

    def end(self):
        self.ended = True


class Lab:
    def __init__(self, least=0, most=1, idle_s=3600.0, refusal=None):
        self.begun, self.begins, self.refusal = [], threading.Event(), refusal
        self.begins.set()
        self.answer = lambda worker, body: Answer(200, "", body)
        self.workers = Workers(least, most, idle_s, lambda: FakeWorker(self))
        self.asks = lambda body=b"1", is_gone=lambda: False: self.workers.answer(body, "", is_gone)

    def facts(self, *names):
        facts = self.workers.facts()
        return tuple(facts[name] for name in names)


@pytest.fixture
def lab():
    labs = []

    def make(**words):
        labs.append(Lab(**words))
        return labs[-1]

    yield make
    for each in labs:
        each.workers.close()
        each.begins.set()


def dies(times: int):
    left = [None] * times

    def answer(worker, body):
        if left:
            left.pop()
            raise errors.WorkerCrashed("it died")
        return Answer(200, "", body)

    return answer


def test_a_worker_that_dies_costs_its_request_one_more_try(lab):
    made = lab()
    made.answer = dies(1)

    assert made.asks(b"x").body == b"x"
    assert len(made.begun) == 2 and made.begun[0] is made.begun[1], "the same worker, whose Python is a new one"
    assert made.facts("answered", "failed") == (1, 0)


def test_a_request_that_kills_two_workers_gets_the_reason(lab):
    made = lab()
    made.answer = dies(2)

    with pytest.raises(errors.WorkerCrashed):
        made.asks()
    assert made.asks().status == 200 and made.facts("answered", "failed") == (1, 1)


def test_a_worker_that_the_user_has_cancelled_is_not_replaced(lab):
    made = lab()

    def cancelled(worker, body):
        raise errors.JobCancelled("by the user")

    made.answer = cancelled
    with pytest.raises(errors.JobCancelled):
        made.asks()
    assert len(made.begun) == 1 and made.begun[0].ended and made.facts("ready", "starting") == (0, 0)


def test_a_model_that_cannot_be_loaded_ends_each_request_with_the_reason_and_keeps_no_worker(lab):
    made = lab(least=1, refusal=NotServed("models:/digits/3 cannot be loaded: there is none", "RestException"))

    for _ in range(2):
        with pytest.raises(NotServed):
            made.asks()
    assert all(worker.ended for worker in made.begun) and made.facts("ready", "starting") == (0, 0)
    assert "cannot be loaded" in made.workers.problem
    made.refusal = None
    assert made.asks().status == 200 and made.workers.problem == ""


def test_requests_that_wait_bring_a_second_worker_and_idle_ones_go_back(lab):
    made, together = lab(most=2, idle_s=0.0), threading.Barrier(2)
    made.answer = lambda worker, body: Answer(200, "", str(together.wait(SECONDS)).encode())  # both at the same time

    threads = [threading.Thread(target=made.asks) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)

    assert len({*made.begun}) == 2 and made.facts("answered") == (2,)
    until(lambda: made.facts("ready", "starting") == (0, 0))
    assert all(worker.ended for worker in made.begun)


def test_a_request_whose_caller_is_gone_is_not_answered(lab):
    made = lab()
    made.begins.clear()

    with pytest.raises(CallerGone):
        made.asks(is_gone=lambda: True)
    assert made.facts("waiting") == (0,)


def test_a_closed_endpoint_ends_what_waits(lab):
    made, ends = lab(), []
    made.begins.clear()

    def waits():
        with pytest.raises(errors.ClientClosed) as found:
            made.asks()
        ends.append(found.value.text)

    thread = threading.Thread(target=waits)
    thread.start()
    until(lambda: made.facts("waiting") == (1,))
    made.workers.close()
    thread.join(SECONDS)

    assert ends == ["this endpoint was closed"]
    with pytest.raises(errors.ClientClosed):
        made.asks()
    made.begins.set()


# ---- strangers and mistakes at the port ------------------------------------------------------------------------------------


@pytest.fixture
def port():
    """Of a listener whose routes say what they got."""
    def routes(method, path, body, kind, is_gone):
        return Answer(200, "text/plain", f"{method} {path} {len(body)} {kind}".encode())

    made = Listener(lambda each, knows: Connection(each, admits, routes, knows))
    yield made.port
    made.close()


def say(port: int, text: bytes) -> bytes:
    """All that comes until the other side closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as stranger:
        found = b""
        with contextlib.suppress(ConnectionError):  # it was closed before all was sent
            stranger.sendall(text)
            while more := stranger.recv(65_536):
                found += more
        return found


def head(first: str, **headers: str) -> bytes:
    lines = [first + " HTTP/1.1", "Host: x", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


BEARER = f"Bearer {TOKEN}"


@pytest.mark.parametrize("text, status, words", [
    (head("GET /ping"), 401, "the token is missing or wrong"),
    (head("GET /ping", Authorization="Bearer wrong"), 401, "the token is missing or wrong"),
    (head("GET /ping", Authorization=f"Basic {TOKEN}"), 401, "the token is missing or wrong"),
    (head("GET /ping", Authorization="Bearer t\xf6ken"), 401, "the token is missing or wrong"),
    (head("POST /invocations", Authorization="Bearer wrong", Content_Length="9", Expect="100-continue"), 401, "the token"),
    (head("POST /x", Authorization=BEARER, Content_Length=str(64 * 2**20 + 1)), 413, "67108864 are the most"),
    (head("POST /x", Authorization=BEARER, Content_Length="9" * 5000), 413, "are the most"),
    (head("POST /x", Authorization=BEARER, Content_Length=str(2**40), Expect="100-continue"), 413, "are the most"),
    (head("POST /x", Authorization=BEARER, Content_Length="-1"), 411, "the body needs a Content-Length"),
    (head("POST /x", Authorization=BEARER, Transfer_Encoding="chunked") + b"1\r\nx\r\n0\r\n\r\n", 411, "the body needs a Content-Length"),
    (head("BREW /x", Authorization=BEARER), 501, "Unsupported method"),
    (b"no HTTP at all\r\n\r\n", 400, "Bad"),
    (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", 414, ""),
])
def test_a_request_that_is_refused_is_told_why_and_ends_its_connection(port, text, status, words):
    answer = say(port, text)

    first, _, body = answer.partition(b"\r\n\r\n")
    assert f" {status} ".encode() in first.split(b"\r\n")[0], answer
    assert words in json.loads(body)["message"] and b"100 Continue" not in first and TOKEN.encode() not in answer


def test_requests_follow_each_other_on_one_connection(port):
    kept = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    for path, body in (("/a", b""), ("/b?c=d", b"x" * 100_000), ("/c", b"y")):
        kept.request("POST", path, body, {"Authorization": BEARER, "Content-Type": "text/csv"})
        assert kept.getresponse().read() == f"POST {path.partition('?')[0]} {len(body)} text/csv".encode()
    kept.close()


def test_a_client_that_is_slow_holds_nothing(monkeypatch):
    monkeypatch.setattr(connection, "HEADERS_S", 0.3)
    monkeypatch.setattr(connection, "BODY_S", 0.3)
    done = threading.Semaphore(0)

    def serve(each, knows):
        Connection(each, admits, lambda *_: Answer(200, "", b"never"), knows)
        done.release()

    made = Listener(serve)
    for text in (b"", b"GET /ping HT", head("GET /ping")[:-4], head("POST /x", Authorization=BEARER, Content_Length="9") + b"abc"):
        assert say(made.port, text) == b""
        assert done.acquire(timeout=SECONDS)
    made.close()


def test_a_crowd_without_the_token_keeps_no_one_out(monkeypatch):
    monkeypatch.setattr(listener, "MOST_CONNECTIONS", 3)
    made = Listener(lambda each, knows: Connection(each, admits, lambda *_: Answer(200, "", b"here"), knows))
    crowd = [socket.create_connection(("127.0.0.1", made.port), timeout=SECONDS) for _ in range(3)]
    mine = http.client.HTTPConnection("127.0.0.1", made.port, timeout=SECONDS)

    for _ in range(2):
        mine.request("GET", "/ping", headers={"Authorization": BEARER})
        assert mine.getresponse().read() == b"here"
        crowd.append(socket.create_connection(("127.0.0.1", made.port), timeout=SECONDS))

    assert crowd[0].recv(1) == b"", "the oldest that showed no token made room"
    mine.request("GET", "/ping", headers={"Authorization": BEARER})
    assert mine.getresponse().read() == b"here", "one that showed it stays"
    made.close()
    for each in (*crowd, mine):
        each.close()


# ---- the files of endpoints ------------------------------------------------------------------------------------------------


@pytest.fixture
def runtime(tmp_path, monkeypatch):
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "pounce" / "endpoints"


def entry(name: str, **changes) -> Entry:
    me = os.getpid()
    facts = {"name": name, "serves": "f()", "port": 1, "token": TOKEN, "pid": me, "started": endpoint_files.start_of(me),
             "boot": endpoint_files.boot_id(), "folder": "/", "since": 0.0}
    return Entry(**{**facts, **changes})


def test_a_name_is_taken_once_and_its_file_is_the_users_alone(runtime):
    path = endpoint_files.add(entry("digits"))

    assert (os.stat(path).st_mode & 0o777, os.stat(runtime).st_mode & 0o777) == (0o600, 0o700)
    with pytest.raises(errors.NameTaken, match=r"serves f\(\) under the name digits"):
        endpoint_files.add(entry("digits"))
    assert [one.name for one in endpoint_files.all_entries()] == ["digits"] and os.listdir(runtime) == ["digits"]


def test_a_file_of_a_process_that_is_gone_frees_its_name(runtime):
    path = endpoint_files.add(entry("digits", started="1"))  # another process of this number, earlier

    assert endpoint_files.all_entries() == [] and not os.path.exists(path)
    endpoint_files.add(entry("digits", boot="another"))
    endpoint_files.add(entry("digits"))
    with pytest.raises(errors.NoSuchName, match="did you mean digits"):
        control.named("digit")
    with pytest.raises(errors.NoSuchName):
        control.named("../endpoints/digits")


def test_a_folder_that_others_can_read_holds_no_token(runtime, tmp_path):
    (tmp_path / "pounce").mkdir(mode=0o755)

    with pytest.raises(errors.BadRequest, match="is not this user's alone"):
        endpoint_files.add(entry("digits"))


def test_the_line_in_a_notebook_knows_its_words():
    assert parse_verb("serve stop digits-2")[:1] == ("serve",) and parse_verb("serve stop digits-2")[1].words == ("stop", "digits-2")
    assert served.line(()) == "this notebook serves nothing: pounce.serve(model, gpus=1) begins it"
    with pytest.raises(errors.NoSuchName):
        served.line(["stop", "digits"])


# ---- on workers --------------------------------------------------------------------------------------------------------------


ASK = """
import http.client, pathlib
from pounce.cell import served
def ask(endpoint, value, path="/invocations", method="POST", **headers):
    kept = http.client.HTTPConnection("127.0.0.1", int(endpoint.url.rsplit(":", 1)[1]), timeout=120)
    kept.request(method, path, json.dumps(value) if method == "POST" else None, {**endpoint.headers, **headers})
    answer = kept.getresponse()
    status, body = answer.status, answer.read()
    kept.close()
    return status, json.loads(body) if body.strip() else ""
def until(condition):
    deadline = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
"""


@pytest.fixture(scope="module")
def serving_home():
    with made_home(idle_release_s=1) as made:
        yield made


@pytest.fixture(scope="module")
def life(serving_home):
    """What a program that serves functions reports of them, and its token."""
    run = serving_home.run(ASK + """
calls = []
def count(value):
    calls.append(value)
    return [os.getpid(), len(calls)]
def dies(value):
    if value == "always" or not os.path.exists("died"):
        open("died", "w").close()
        os._exit(7)
    return os.getpid()

with pounce.serve(count, idle="1h") as endpoint:
    report(made=repr(endpoint), ping=ask(endpoint, None, "/ping", "GET")[0])
    first = ask(endpoint, 1)
    worker = pounce.Client()  # another lease's idle time passes meanwhile, and the endpoint's worker stays
    worker.submit(pow, 2, 2).result()
    until(lambda: not worker.leases())
    worker.close()
    report(first=first, second=ask(endpoint, 2), repr=repr(endpoint), lines=served.line(()), pid=os.getpid(), url=endpoint.url)
    report(unknown=ask(endpoint, 1, "/predict")[0], method=ask(endpoint, 1, "/invocations", "GET")[0], token=ask(endpoint, 1, Authorization="Bearer x")[0],
           taken=error_of(lambda: pounce.serve(count, name="count"))["type"], pickled=error_of(lambda: pounce.Client().submit(id, [endpoint])))
    with pounce.serve(count) as other:
        report(other=other.name)
    def has_it(path):
        try:
            return endpoint.token in str(path) or endpoint.token.encode() in path.read_bytes()
        except OSError:  # a folder, a socket, a process that has ended
            return endpoint.token in str(path)
    mine = pathlib.Path(os.environ["HOME"])
    report(files=[str(path.relative_to(mine)) for path in mine.rglob("*") if has_it(path)],
           processes=[str(path) for name in ("cmdline", "environ") for path in pathlib.Path("/proc").glob(f"[0-9]*/{name}") if has_it(path)])
    line = served.line(["stop", "count"])
report(stopped=line, after=error_of(lambda: ask(endpoint, 1))["type"], start=error_of(endpoint.start)["type"])

with pounce.serve(count, idle=0.5) as endpoint:
    zero = ask(endpoint, 1)
    until(lambda: repr(endpoint).endswith(": 0 of 0 to 1 worker>"))
    back = ask(endpoint, 1)
    report(zero=zero, back=back)

with pounce.serve(lambda name: os.environ.get(name), name="variable") as endpoint:
    tokens = [ask(endpoint, "SERVED_TOKEN")[1]]
    for each in ("first", "renewed"):
        os.environ["SERVED_TOKEN"] = each  # nothing is submitted in this thread, which settings are read in
        tokens.append(ask(endpoint, "SERVED_TOKEN")[1])
    report(tokens=tokens)

with pounce.serve(dies) as endpoint:
    report(retried=ask(endpoint, "once")[0], lost=ask(endpoint, "always"), healthy=ask(endpoint, None, "/health", "GET")[0])
""", seconds=180)
    return run.reports


def test_a_worker_loads_once_and_keeps_it_over_the_idle_time_of_leases(life):
    assert life["made"].endswith(": 0 of 0 to 1 worker>") and life["ping"] == 200, "no worker before the first request"
    (status, (pid, calls)), (_, second) = life["first"], life["second"]
    assert (status, calls, second) == (200, 1, [pid, 2]) and pid != life["pid"]
    assert life["repr"] == life["lines"] == f"<pounce.Endpoint count at {life['url']}: 1 of 0 to 1 worker>"


def test_wrong_requests_names_and_tokens_are_refused(life):
    assert (life["unknown"], life["method"], life["token"]) == (404, 405, 401)
    assert (life["taken"], life["other"]) == ("NameTaken", "count-2")


def test_the_token_is_in_one_file_of_the_users_and_in_no_pickle(life):
    assert (life["files"], life["processes"]) == (["run/pounce/endpoints/count"], []) and life["pickled"]["type"] == "NotPicklable"
    assert "is a Endpoint, which cannot be pickled: an endpoint belongs to the process that made it" in life["pickled"]["text"]


def test_an_endpoint_that_was_stopped_takes_nothing(life):
    assert life["stopped"] == "<pounce.Endpoint count closed>"
    assert (life["after"], life["start"]) == ("ConnectionRefusedError", "ClientClosed")


def test_an_idle_endpoint_has_no_worker_and_the_next_request_gets_one(life):
    (before, after) = life["zero"], life["back"]
    assert before[0] == after[0] == 200 and before[1][0] != after[1][0] and after[1][1] == 1


def test_a_token_that_the_notebook_renews_is_there_with_the_next_request(life):
    assert life["tokens"] == [None, "first", "renewed"]


def test_a_python_that_dies_is_another_try_and_twice_is_the_reason(life):
    status, error = life["lost"]
    assert life["retried"] == 200 and (status, error["type"]) == (503, "WorkerCrashed") and "exit code 7" in error["message"]
    assert life["healthy"] == 200


def started(home, *words: str) -> subprocess.Popen:
    program = shutil.which("pouncectl", path=os.environ.get("POUNCE_BUILD") or sysconfig.get_path("scripts"))
    path = os.pathsep.join([os.path.dirname(sys.executable), home.environment.get("PATH", "")])  # with our python
    return subprocess.Popen([program, "serve", *words], env={**home.environment, "PATH": path}, cwd=home.folder, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def pouncectl(home, *words: str) -> SimpleNamespace:
    with started(home, *words) as process:
        out, err = process.communicate(timeout=SECONDS)
    return SimpleNamespace(code=process.returncode, out=out, err=err)


def test_a_terminal_lists_endpoints_shows_a_token_and_stops_them(serving_home):
    with started(serving_home, "models:/digits/3", "--workers", "0:2", "--name", "mine") as one, started(serving_home, "models:/digits/3") as two:
        said, other = one.stdout.readline(), two.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:(\d+)", said)
        assert said.startswith("mine is served at http://127.0.0.1:") and "until Ctrl-C" in said and other.startswith("digits is served")

        rows = json.loads(pouncectl(serving_home, "--json").out)["endpoints"]
        assert {(row["name"], row["serves"], row["least"], row["most"], row["ready"]) for row in rows} == {
            ("mine", "models:/digits/3", 0, 2, 0), ("digits", "models:/digits/3", 0, 1, 0)}
        table, token = pouncectl(serving_home).out, pouncectl(serving_home, "token", "mine").out.strip()
        assert "mine" in table and "0 of 0:2" in table and len(token) > 40 and token not in table + said + json.dumps(rows)
        assert pouncectl(serving_home, "token", "mine", "--header").out == f"Authorization: Bearer {token}\n"
        assert b" 200 " in say(int(address[1]), head("GET /ping", Authorization=f"Bearer {token}", Connection="close"))

        missing = pouncectl(serving_home, "stop", "mine2")
        assert (missing.code, "did you mean mine?" in missing.err) == (1, True)
        assert pouncectl(serving_home, "stop", "mine").code == 0 and one.wait(SECONDS) == 0
        two.send_signal(signal.SIGINT)
        assert two.wait(SECONDS) == 0
    assert pouncectl(serving_home, "list").out == "no endpoint: pounce.serve() makes one\n"
    assert pouncectl(serving_home, "lst").code == 2
