"""The panel: what it shows of leases and cells, its page on the loopback interface, and its widget in a notebook."""

from __future__ import annotations

import http.client
import json
from types import SimpleNamespace

import pytest
from pounce.panels import actions, rows
from pounce.panels.server import PanelServer

NOW = 1_000_000.0
LEASE = {"lease": "7e84a5ff6138e4d2", "state": "busy", "gpus": 1, "gpu_type": "a100", "cpus": 0, "workers": 1, "class": "lion",
         "node": "g1", "devices": "GPU 0", "job": 44, "end_s": NOW + 3600, "session": "s", "age_s": 5.0, "start_estimate_s": 0,
         "reason": "ready", "now": {"cpu_percent": 350, "memory_mib": 1500, "gpu_percent": 93, "gpu_memory_mib": 2900},
         "used": {"gpu_memory_total_mib": 81920}}


def document(*leases: dict) -> dict:
    return {"sessions": [{"session": "s", "directory": "/home/alice/digits"}], "leases": [{**LEASE, **each} for each in leases]}


# ---- what it shows ---------------------------------------------------------------------------------------------------


def test_a_lease_has_what_it_uses_at_the_moment_and_the_time_that_is_left():
    (row,) = rows.leases_of(document({}), NOW)
    assert row == {"id": "7e84a5ff6138e4d2", "title": "1 × a100 · lion · g1 GPU 0 · job 44", "state": "computes", "says": "",
                   "left_s": 3600, "folder": "/home/alice/digits", "here": False, "gpu": 93, "gpu_memory_mib": 2900,
                   "gpu_memory_total_mib": 81920, "cpu": 3.5, "memory_mib": 1500}


def test_a_lease_that_waits_says_why_and_until_when_and_uses_nothing():
    waits = {"state": "queued", "reason": "all GPUs are taken", "eta": {"start_s": NOW + 600}, "node": "", "devices": "", "end_s": 0}
    (row,) = rows.leases_of(document({**waits, "now": {}, "used": None}), NOW)
    assert (row["state"], row["says"]) == ("waits", "all GPUs are taken; starts in about 10 min")
    assert [row[fact] for fact in ("left_s", "gpu", "gpu_memory_mib", "cpu", "memory_mib")] == [None] * 5


def test_a_lease_says_what_its_programs_report_and_what_it_loads():
    (row,) = rows.leases_of(document({"reported": {"status": "epoch 3", "numbers": {"loss": "0.3"}}, "loading": ["torch"]}), NOW)
    assert row["says"] == "it is loading torch; epoch 3; loss=0.3"


def test_a_driver_that_tells_nothing_leaves_the_plot_to_the_cpus():
    (row,) = rows.leases_of(document({"now": {**LEASE["now"], "gpu_percent": -1, "gpu_memory_mib": 0}, "used": {}}), NOW)
    assert (row["gpu"], row["gpu_memory_mib"], row["cpu"]) == (None, None, 3.5)


def test_leases_of_this_notebook_come_first_then_the_oldest():
    found = rows.leases_of(document({"lease": "a", "age_s": 9.0}, {"lease": "b", "age_s": 1.0}, {"lease": "c", "age_s": 20.0}), NOW, frozenset("b"))
    assert [row["id"] for row in found] == ["b", "c", "a"]


def test_a_background_cell_has_the_last_line_of_its_output():
    assert rows.cell_of("fit", False, "epoch 1\n 40 %\r 41 %\n\n") == {"name": "fit", "state": "runs", "says": " 41 %", "choices": []}
    assert rows.cell_of("fit", True, "")["state"] == "waits"


def test_as_text_it_has_the_same_facts():
    leases, cells = rows.leases_of(document({}), NOW, frozenset([LEASE["lease"]])), [{"name": "fit", "state": "runs", "says": "41 %"}]
    assert rows.as_text(leases, cells) == (
        "* 1 × a100 · lion · g1 GPU 0 · job 44: computes, GPU 93 %, 2900 of 81920 MiB of its memory, 3.5 CPUs, 1500 MiB, 60 min left\n"
        "cell fit runs: 41 %")
    assert rows.as_text([], []) == "nothing is leased"


# ---- its page --------------------------------------------------------------------------------------------------------


@pytest.fixture
def server():
    asked: list[dict] = []
    server = PanelServer(lambda request: asked.append(request) or {"leases": [], "cells": []})
    yield SimpleNamespace(port=server.port, token=server.url.partition("#")[2], asked=asked)
    server.close()


def answer(server, method: str, path: str, token: str = "", body: str | None = None) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request(method, path, body, {"Authorization": f"Bearer {token}"} if token else {})
    found = connection.getresponse()
    text = found.read().decode()
    connection.close()
    return found.status, text


def test_its_link_is_good_for_one_page_alone(server):
    status, text = answer(server, "POST", "/key", server.token)
    assert status == 200
    assert answer(server, "POST", "/panel", json.loads(text)["key"], '{"do": "look"}') == (200, '{"leases": [], "cells": []}')
    assert answer(server, "POST", "/key", server.token)[0] == 401, "another browser with the same link"
    assert server.asked == [{"do": "look"}]


@pytest.mark.parametrize("token", ["", "wrong", "é"])
def test_another_user_of_the_machine_sees_nothing_and_does_nothing(server, token):
    for path in ("/key", "/panel"):
        assert answer(server, "POST", path, token.encode().decode("latin-1"), '{"do": "release", "lease": "7e"}')[0] == 401
    assert answer(server, "POST", "/panel", server.token, "{}")[0] == 401, "the link's token is no key"
    assert server.asked == []


def test_the_page_and_its_files_hold_no_secret(server):
    for path in ("/", "/panel.mjs", "/begin.mjs", "/panel.css"):
        status, text = answer(server, "GET", path)
        assert status == 200 and text
        assert server.token not in text
    assert answer(server, "GET", "/../actions.py", server.token)[0] == 401


@pytest.mark.parametrize("body", ["", "no JSON", "[1]", "[" * 100_000])
def test_a_request_that_is_none_is_refused_by_name(server, body):
    key = json.loads(answer(server, "POST", "/key", server.token)[1])["key"]
    status, text = answer(server, "POST", "/panel", key, body)
    assert (status, json.loads(text)["message"]) == (400, "a request is a JSON object")


def test_a_lease_that_is_no_lease_reaches_no_command(monkeypatch):
    monkeypatch.setattr(actions, "_pouncectl", lambda *words: pytest.fail(f"{words}"))
    assert actions.release("--all") == "'--all' is no lease"


# ---- in a notebook ---------------------------------------------------------------------------------------------------


def test_in_a_notebook_it_shows_its_lease_follows_a_cell_that_runs_and_gives_the_lease_back():
    pytest.importorskip("anywidget")
    kernel = pytest.importorskip("kernel")
    with kernel.notebook_at_home("import pounce") as notebook:
        notebook.run("%%pounce --cpus 1\nx = 1")
        shown = notebook.run("%pounce panel")
        (data,) = [content["data"] for content in shown.of("execute_result")]
        assert data["text/plain"].startswith("* 1 CPU · ")
        comm = data["application/vnd.jupyter.widget-view+json"]["model_id"]

        def sends(content: dict, until) -> dict:
            session, shell = notebook.client.session, notebook.client.shell_channel
            message = session.msg("comm_msg", {"comm_id": comm, "data": {"method": "custom", "content": content}})
            shell.send(message)
            return answered(until)

        def answered(until) -> dict:
            while True:
                message = notebook.client.get_iopub_msg(timeout=kernel.SECONDS)
                content = message["content"].get("data", {}).get("content") if message["msg_type"] == "comm_msg" else None
                if content is not None and until(content):
                    return content

        (lease,) = sends({"do": "look"}, lambda _: True)["leases"]
        assert lease["here"] and lease["title"].startswith("1 CPU")

        cell = notebook.start("import threading; threading.Event().wait()")  # no subshell: the page is not heard
        pushed = answered(lambda content: content.get("pushed"))
        assert [each["id"] for each in pushed["leases"]] == [lease["id"]]
        notebook.manager.interrupt_kernel()
        notebook.ended(cell)

        gone = sends({"do": "release", "lease": lease["id"]}, lambda content: "trouble" not in content)
        while any(each["id"] == lease["id"] and each["state"] != "ends" for each in gone["leases"]):
            gone = sends({"do": "look"}, lambda _: True)


def test_outside_a_notebook_it_says_where_it_is():
    import pounce

    with pytest.raises(pounce.errors.BadRequest, match="pouncectl panel"):
        pounce.panel()
