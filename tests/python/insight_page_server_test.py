"""``pouncectl usage page`` as it is typed and served: who gets in, what they see, and what each answer forbids a browser."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pounce
import pytest
from insight_past import END, FakeAccounting, past
from pounce.errors import BadRequest, PounceError
from pounce.insight.collector import Collector
from pounce.insight.command import main
from pounce.insight.page.command import _port_of
from pounce.insight.page.server import PageServer, Who, operators_of, token_of
from pounce.insight.store import create

TOKEN = "0123456789abcdef" * 4


@pytest.fixture
def server():
    servers = []

    def server(who=Who(), made=lambda users: "page of " + ",".join(sorted(users))):  # noqa: B008
        servers.append(PageServer(made, TOKEN, who))
        return servers[-1]

    yield server
    for each in servers:
        each.close()


def get(server, path="/", method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.putrequest(method, path)
    for name, value in headers.items():
        for one in value if isinstance(value, list) else [value]:
            connection.putheader(name.replace("_", "-"), one)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer, body


BEARER = {"Authorization": f"Bearer {TOKEN}"}
PROXY = Who("X-Remote-User", frozenset({"root", "olga"}))


@pytest.mark.parametrize("path", ["/", "/" + "0" * 64, "/" + TOKEN[:-1], "/index.html", "/?token=" + TOKEN])
@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer x"}, {"Authorization": f"Basic {TOKEN}"}, {"X_Remote_User": "root"}])
def test_a_stranger_gets_nothing(path, headers, server):
    answer, body = get(server(), path, **headers)
    assert answer.status == 401 and "page of" not in body


def test_the_link_is_the_page(server):
    one = server()
    answer, body = get(one, "/" + one.url.rpartition("/")[2])
    assert answer.status == 200 and body == "page of " and answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert get(one, **BEARER)[1] == "page of " and get(one, method="HEAD", **BEARER)[1] == ""


@pytest.mark.parametrize("status", [200, 401, 404])
def test_each_answer_forbids_a_browser_what_it_can(status, server):
    answer, _ = get(server(), "/x" if status == 404 else "/", **(BEARER if status != 401 else {}))
    assert answer.status == status
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-") and policy.endswith("frame-ancestors 'none'") and "unsafe" not in policy
    for name, value in {"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}.items():
        assert answer.headers[name] == value


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_the_page_is_only_read(method, server):
    assert get(server(), method=method, **BEARER)[0].status == 405


def test_behind_a_proxy_people_see_their_own_and_operators_all(server):
    one = server(PROXY)
    assert get(one, X_Remote_User="alice", **BEARER)[1] == "page of alice"
    assert get(one, X_Remote_User="olga", **BEARER)[1] == "page of "
    assert get(one, x_remote_user="bob", **BEARER)[1] == "page of bob"


@pytest.mark.parametrize("user", [None, "", " ", "alice, olga", ["alice", "olga"]])
def test_behind_a_proxy_a_request_of_no_one_user_is_refused(user, server):
    headers = {} if user is None else {"X_Remote_User": user}
    answer, body = get(server(PROXY), **BEARER, **headers)
    assert answer.status == 403 and "page of" not in body


def test_behind_a_proxy_the_header_alone_opens_nothing_and_neither_does_the_link(server):
    one = server(PROXY)
    assert get(one, X_Remote_User="root")[0].status == 401
    assert get(one, "/" + TOKEN, X_Remote_User="root")[0].status == 401


def test_a_page_is_made_once_a_minute_for_each_who_looks(server):
    made = []
    one = server(PROXY, lambda users: made.append(users) or "x")
    for user in ("alice", "alice", "olga", "root"):
        get(one, X_Remote_User=user, **BEARER)
    assert made == [frozenset({"alice"}), frozenset()]


@pytest.mark.parametrize(("error", "status"), [(BadRequest("the store has nothing of this span", "x"), 404), (PounceError("the disk is full", "x"), 503)])
def test_what_fails_is_an_answer_and_is_tried_again(error, status, server):
    def made(users):
        raise error

    one = server(made=made)
    for _ in range(2):
        answer, body = get(one, **BEARER)
        assert answer.status == status and str(error) in body


def test_only_this_machine_reaches_it(server):
    one = server()
    own = [address[4][0] for address in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
    for address in {each for each in own if not each.startswith("127.")}:
        with pytest.raises(OSError):
            socket.create_connection((address, one.port), timeout=5)
    assert _port_of("") == 0 and _port_of("8123") == _port_of("localhost:8123") == _port_of("127.0.0.1:8123") == 8123
    for address in ("0.0.0.0:8123", "login1:80", ":::80", "0", "70000", "usage.html", "127.0.0.1"):
        with pytest.raises(BadRequest, match="this machine alone"):
            _port_of(address)


def test_the_token_stays_and_is_its_owners_alone(tmp_path):
    place = tmp_path / "folder" / "page.token"
    token = token_of(place)
    assert re.fullmatch("[0-9a-f]{64}", token) and token_of(place) == token and place.stat().st_mode & 0o777 == 0o600
    place.chmod(0o640)
    with pytest.raises(BadRequest, match="others could read"):
        token_of(place)
    place.chmod(0o600)
    place.write_text("short\n")
    with pytest.raises(BadRequest, match="has no token"):
        token_of(place)
    place.unlink()
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PounceError, match="cannot be used"):
        token_of(place)


def test_operators_are_users_and_members_of_groups():
    import grp

    assert operators_of("olga, pat") == {"olga", "pat"} and "root" in operators_of("")
    root = grp.getgrgid(0).gr_name
    assert "root" in operators_of(f"@{root}")
    with pytest.raises(BadRequest, match="no group"):
        operators_of("@xyz-none")


# ---- the command line --------------------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path, monkeypatch):
    now_s = int(time.time())
    place = tmp_path / "usage.sqlite"
    made = create(place, "UTC")
    Collector(made, FakeAccounting(past(40, now_s=now_s), now_s)).run(END - 9 * 86400)
    made.close()
    monkeypatch.setenv("POUNCE_USAGE_STORE", str(place))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return place


def test_a_page_is_written(store, capsys, tmp_path):
    assert main(["page", "--since", "9d"]) == 0
    assert (tmp_path / "pounce-usage.html").read_text().startswith("<!DOCTYPE html>")
    assert main(["page", "one.html", "--user", "alice", "--since", "9d"]) == 0
    assert "only alice" in (tmp_path / "one.html").read_text() and "one.html" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [(["usage.pdf"], "end in .html"), (["--user-header", "X"], "for --serve"), (["--serve", "--operators", "a"], "needs --user-header"), (["--serve", "0.0.0.0:80"], "this machine alone"),
     (["--since", "7d", "--from", "today"], "a span is"), (["--serve", "--store", "none"], "needs a store"), (["--top", "0"], "from 1 on"), (["--sevre"], "did you mean --serve"),
     (["--from", "2019-01-01", "--to", "2019-01-02"], "nothing of this span")],
)
def test_a_wrong_command_line_is_refused_with_what_to_write(words, said, store, capsys):
    assert main(["page", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_page_that_cannot_be_written_says_so(store, capsys):
    assert main(["page", "/nowhere/usage.html"]) == 1
    assert "/nowhere/usage.html cannot be written: No such file" in capsys.readouterr().err


def test_it_serves_until_it_is_told_to_end(store, tmp_path):
    program = "import sys; from pounce.insight.command import main; sys.exit(main(sys.argv[1:]))"
    process = subprocess.Popen([sys.executable, "-c", program, "page", "--serve", "--since", "9d"], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONPATH": str(Path(pounce.__file__).parents[1])})
    try:
        url = process.stdout.readline().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{64})", url)
        assert found and (tmp_path / "state" / "pounce" / "usage" / "page.token").read_text().strip() == found[2]
        connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=60)
        connection.request("GET", "/" + found[2])
        assert connection.getresponse().read().startswith(b"<!DOCTYPE html>")
        connection.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.communicate()
