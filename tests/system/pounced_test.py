"""The real pounced with real processes: one daemon per instance, its start and end, its handshake endpoint and control channel, leases that
outlive it. The local launcher: neither Slurm nor root is needed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import zmq
from daemon_world import program, running, wait
from zmq.utils.monitor import recv_monitor_message

# ---- start and end --------------------------------------------------------------------------------------------------


def test_a_second_ensure_finds_the_daemon_of_the_first(home):
    assert home.ensure() == home.ensure()
    assert len(home.daemons()) == 1


def test_eight_starters_at_once_end_with_one_daemon(home):
    starters = [home.start() for _ in range(8)]
    answers = [starter.communicate()[0] for starter in starters]
    assert [starter.returncode for starter in starters] == [0] * 8, answers
    assert len({json.loads(answer)["pid"] for answer in answers}) == 1
    wait(lambda: len(home.daemons()) == 1, "the losers' end")


def test_a_pipeline_around_ensure_ends_while_the_daemon_lives(home):
    done = subprocess.run(["sh", "-c", f"{program('pounced')} ensure | cat"], env=home.environment, timeout=20,
                          capture_output=True, text=True)
    assert running(json.loads(done.stdout)["pid"])


def test_the_daemon_holds_no_descriptor_of_its_starter(home):
    ours, inherited = os.pipe()
    os.set_inheritable(inherited, True)
    home.run("pounced", "ensure", pass_fds=[inherited])
    os.close(inherited)
    os.set_blocking(ours, False)
    assert os.read(ours, 1) == b""  # end of file; a daemon that held the other end would make this raise
    os.close(ours)
    assert len(home.daemons()) == 1


def test_a_killed_daemon_is_replaced_by_the_next_ensure(home, enter):
    first = home.ensure()
    os.kill(first["pid"], signal.SIGKILL)
    wait(lambda: not running(first["pid"]), "its end")
    second = home.ensure()
    assert second["pid"] != first["pid"] and second["key"] != first["key"]
    assert second["instance"] == first["instance"]
    assert enter(second).welcome["type"] == "welcome"


def test_a_daemon_with_nothing_to_do_ends_itself(make_home):
    home = make_home(daemon_idle_exit_s=0.3)
    endpoint = home.ensure()
    wait(lambda: not running(endpoint["pid"]), "the idle exit")
    assert not (home.state(endpoint) / "endpoint").exists()


def test_no_start_only_looks(home):
    assert home.failure("--no-start")["code"] == "daemon_unavailable"
    assert home.daemons() == []
    endpoint = home.ensure()
    assert home.ensure("--no-start") == endpoint


def test_its_files_are_the_users_alone(home):
    state = home.state(home.ensure())
    assert state.stat().st_mode & 0o777 == 0o700
    for name in ("endpoint", "journal", "key", "place", "pounced.log"):
        assert (state / name).stat().st_mode & 0o777 == 0o600, name


def test_two_homes_of_one_user_have_two_instances(make_home):
    one, two = make_home().ensure(), make_home().ensure()
    assert one["instance"] != two["instance"]
    assert running(one["pid"]) and running(two["pid"])


# ---- failures that the user reads -----------------------------------------------------------------------------------


def test_an_unknown_configuration_key_is_refused_with_the_list(make_home):
    error = make_home(idle_relase_s=5).failure()
    assert error["code"] == "bad_request"
    assert "idle_relase_s" in error["text"] and "idle_release_s" in error["text"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be refused as root")
def test_root_is_refused_with_the_slurm_launcher(home):
    conf = home.folder / "slurm.conf"
    conf.write_text("ClusterName=pounce\nSlurmctldHost=localhost\n")
    home.environment["SLURM_CONF"] = str(conf)
    assert home.failure("--launcher", "slurm")["code"] == "refuses_root"


def test_a_named_slurm_conf_that_is_missing_is_never_a_fallback(make_home):
    home = make_home()
    home.config.write_text("{}")
    home.environment["SLURM_CONF"] = str(home.folder / "missing.conf")
    assert home.failure()["code"] == "slurm_config"
    assert home.daemons() == []


def test_a_start_that_fails_says_why_and_shows_the_log(home):
    state = home.state(home.ensure())
    home.end_daemon(home.daemons()[0], signal.SIGTERM)
    (state / "journal").unlink()
    (state / "journal").mkdir()
    error = home.failure()
    assert "journal" in error["text"]
    assert "journal" in error["context"]["last_lines"]
    assert error["context"]["log"] == str(state / "pounced.log")


def test_wrong_usage_exits_2(home):
    assert home.run("pounced", "ensure", "--qos", "x").returncode == 2
    assert home.run("pounced").returncode == 2


# ---- handshake endpoint and control channel ----------------------------------------------------------------------------------------------------


def test_the_handshake_refuses_a_key_that_is_not_the_connections(home, enter):
    endpoint = home.ensure()
    client = enter(endpoint)
    answer = client.hello("client", key=enter(endpoint).public.decode())
    assert (answer["type"], answer["error"]["code"]) == ("refused", "not_authenticated")


def test_the_handshake_refuses_a_forged_key_file_proof(home, enter):
    answer = enter(home.ensure()).hello("worker", proof="key_file", lease="0102030405060708")
    assert (answer["type"], answer["error"]["code"]) == ("refused", "not_authenticated")


def handshake_at_control(peer) -> int:
    """How a new connection of that key ends its handshake."""
    peer.connect(peer.welcome["control"][0], watch=zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_SUCCEEDED)
    monitor = peer.sockets[-1]
    assert monitor.poll(5000), "no end of the handshake"
    return recv_monitor_message(monitor)["event"]


def test_the_control_lets_no_key_in_that_the_handshake_has_not_seen(home, enter):
    known = enter(home.ensure())
    known.say("status_ask", question=1)
    assert known.wait_for("status_is")["question"] == 1
    known.public, known.secret = zmq.curve_keypair()
    assert handshake_at_control(known) == zmq.EVENT_HANDSHAKE_FAILED_AUTH


def test_a_client_speaks_for_its_own_session_only(home, enter):
    client = enter(home.ensure())
    client.open_session(home.folder, session="ff" * 16)
    assert client.wait_for("refused")["error"]["code"] == "not_authenticated"


def test_a_worker_speaks_for_its_own_lease_only(home, enter):
    worker = enter(home.ensure(), role="worker")
    worker.say("worker_beat", lease="ff" * 8, worker=0, running=0)
    assert worker.wait_for("refused")["error"]["code"] == "not_authenticated"


@pytest.mark.parametrize("role", ["client", "worker"])
def test_what_a_role_does_not_say_is_refused(home, enter, role):
    peer = enter(home.ensure(), role=role)
    peer.say("welcome", control=[], instance="", heartbeat_ms=1)
    assert peer.wait_for("refused")["error"]["code"] == "protocol"


def test_a_malformed_message_is_answered_and_harms_nobody(home, enter):
    client = enter(home.ensure())
    client.socket.send_multipart([b"\xff not json"])
    assert client.wait_for("refused")["error"]["code"] == "protocol"
    client.say("status_ask", question=2)
    assert client.wait_for("status_is")["question"] == 2


def test_a_beat_is_answered_with_the_askers_time(home, enter):
    client = enter(home.ensure())
    client.say("beat", answer=False, sent_ns=4711, clock_ns=0)
    answer = client.wait_for("beat")
    assert answer["answer"] and answer["sent_ns"] == 4711 and answer["clock_ns"] > 0


def test_the_handshake_stays_open_after_more_visits_than_it_keeps(home, enter):
    endpoint = home.ensure()
    client = enter(endpoint)

    def handshake(**words):
        """None when asked to come again: these are more hellos than the handshake endpoint takes in a second."""
        answer = client.hello("client", **words)
        return None if answer.get("error", {}).get("code") == "daemon_unavailable" else answer

    for _ in range(600):
        assert (handshake() or {"type": "welcome"})["type"] == "welcome"
    assert wait(handshake, "an answer after the rush")["type"] == "welcome"
    careful = wait(lambda: handshake(over="tcp"), "an answer on the other side")
    assert careful["error"]["code"] == "not_authenticated"  # open, and as careful as before


# ---- folders of others ------------------------------------------------------------------------------------------------

LONG_AGO_S = 25 * 3600


def old_folder(home, endpoint: dict, name: str, **elsewhere) -> Path:
    """As a daemon beside that one leaves its state folder: quiet for more than a day."""
    state = home.state(endpoint)
    folder = state.parent / name
    folder.mkdir(mode=0o700)
    (folder / "place").write_text(json.dumps(json.loads((state / "place").read_text()) | elsewhere))
    (folder / "usage").write_text(json.dumps({"lease": name}) + "\n")
    then = time.time() - LONG_AGO_S
    for path in (*folder.iterdir(), folder):
        os.utime(path, (then, then))
    return folder


# They stayed for ever: over a hundred after one day of tests.
def test_the_folder_of_a_notebook_job_that_is_over_goes_and_what_its_leases_used_stays(home):
    endpoint = home.ensure()
    home.end_daemon(endpoint["pid"], signal.SIGTERM)
    gone = old_folder(home, endpoint, "0123456789ab", outer_job=4711)
    old_folder(home, endpoint, "0123456789ac", machine_id="another", boot_id="its boot")

    home.ensure()
    wait(lambda: not gone.exists(), "the removal of the folder")
    told = json.loads(home.run("pounced", "where", "--folders").stdout)

    assert (gone.parent / "usage").read_text() == '{"lease": "0123456789ab"}\n'
    assert (told["folders_gone"], told["folders_elsewhere"], told["folders_open"]) == ("", "0123456789ac ", "")


# ---- leases -----------------------------------------------------------------------------------------------------------


def test_a_demand_is_granted_a_worker_and_every_status_says_what_it_is(home, session):
    lease = session.granted["lease"]
    assert session.granted["endpoint"].startswith("tcp://127.0.0.1:") and len(session.granted["key"]) == 40
    statuses = [message for message in session.heard if message["type"] == "lease_status"]
    assert statuses and {status["devices"] for status in statuses} == {"CPU standing in"}
    assert {status["lease"] for status in statuses} == {lease}
    assert len(home.workers()) == 1


def test_a_killed_supervisors_lease_ends_at_once_with_its_reason(make_home, enter):
    home = make_home(heartbeat_ms=5000, worker_silence_s=100, lost_after_s=200, reconcile_interval_s=100, poll_min_s=2, poll_max_s=4)
    client = enter(home.ensure())
    client.open_session(home.folder)
    client.demand(waiting=1, gpus=1)
    client.wait_for("granted")
    (supervisor,) = home.workers()

    start = time.monotonic()
    os.kill(supervisor, signal.SIGKILL)

    error = client.wait_for("lease_ended")["error"]
    assert error["code"] == "job_cancelled" and error["cause"]["code"] == "job_cancelled", error
    assert time.monotonic() - start < 10, "its silence was waited for"


def test_an_idle_lease_is_given_back(home, session):
    session.demand(waiting=0)
    assert session.wait_for("lease_ended")["lease"] == session.granted["lease"]
    wait(lambda: not home.workers(), "the worker's end")


def leases_of(session) -> list[dict]:
    session.say("status_ask", question=7)
    return json.loads(session.wait_for("status_is")["document"])["leases"]


# It stayed until a thousand others had pushed it out.
def test_the_control_admits_a_workers_key_no_longer_than_its_lease_lasts(session, enter):
    worker = enter(session.endpoint, role="worker", subject=session.granted["lease"])
    assert handshake_at_control(worker) == zmq.EVENT_HANDSHAKE_SUCCEEDED
    session.demand(waiting=0)
    wait(lambda: not leases_of(session), "the lease's end")
    assert handshake_at_control(worker) == zmq.EVENT_HANDSHAKE_FAILED_AUTH


def test_a_closed_session_gives_its_lease_back_at_once(home, session):
    session.say("close_session", session=session.subject)
    wait(lambda: not home.workers(), "the worker's end")


def test_a_request_that_this_machine_cannot_serve_fails_with_its_reason(home, enter):
    client = enter(home.ensure())
    client.open_session(home.folder)
    client.demand(waiting=1, gpus=5)
    assert client.wait_for("request_failed")["error"]["code"] == "unsatisfiable"


def test_queue_and_status_show_the_lease(home, session):
    session.say("queue_ask", question=5)
    queue = session.wait_for("queue_is")
    assert queue["question"] == 5 and queue["launcher"] == "local"
    assert [row["lease"] for row in queue["rows"]] == [session.granted["lease"]]
    session.say("status_ask", question=6)
    status = json.loads(session.wait_for("status_is")["document"])
    lease = status["leases"][0]
    assert lease["lease"] == session.granted["lease"] and lease["state"] == "busy"
    assert lease["devices"] == "CPU standing in" and lease["job"] > 0
    assert lease["history"]
    assert status["rpc"]["submits"] == 1 and status["sessions"][0]["session"] == session.subject


@pytest.mark.parametrize("journal", ["kept", "deleted", "damaged"])
def test_a_lease_outlives_its_killed_daemon_and_is_claimed_again(home, session, enter, journal):
    granted, workers = session.granted, home.workers()
    home.end_daemon(session.endpoint["pid"], signal.SIGKILL)
    path = home.state(session.endpoint) / "journal"
    if journal == "deleted":
        path.unlink()
    elif journal == "damaged":
        path.write_bytes(b"damage" + path.read_bytes())
    again = enter(home.ensure(), subject=session.subject)
    again.open_session(home.folder)
    again.demand(waiting=0, running=1, gpus=1, holds=(granted["lease"],))
    claimed = again.wait_for("granted")
    assert {key: claimed[key] for key in ("lease", "epoch", "endpoint", "key")} == {
        key: granted[key] for key in ("lease", "epoch", "endpoint", "key")
    }
    assert home.workers() == workers
    assert (home.state(session.endpoint) / "journal.damaged").exists() == (journal == "damaged")


def test_a_journal_that_is_removed_is_made_anew(home, session):
    path = home.state(session.endpoint) / "journal"
    path.unlink()

    wait(path.exists, "the journal")

    assert session.granted["lease"] in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_lease_that_nobody_claims_after_a_kill_is_ended(home, session):
    home.end_daemon(session.endpoint["pid"], signal.SIGKILL)
    home.ensure()
    wait(lambda: not home.workers(), "the end of the worker that nobody claims")


def test_a_daemon_that_is_told_to_end_leaves_its_leases_alone(home, session, enter):
    workers = home.workers()
    home.end_daemon(session.endpoint["pid"], signal.SIGTERM)
    again = enter(home.ensure(), subject=session.subject)
    again.open_session(home.folder)
    again.demand(waiting=0, running=1, gpus=1, holds=(session.granted["lease"],))
    assert again.wait_for("granted")["lease"] == session.granted["lease"]
    assert home.workers() == workers


def test_a_silent_sessions_lease_is_given_back(make_home, enter):
    home = make_home(orphan_grace_s=1)
    client = enter(home.ensure())
    client.open_session(home.folder)
    client.demand(waiting=1)
    client.wait_for("granted")
    client.beats = False
    wait(lambda: not home.workers(), "the orphan's end")


# Killed, or its machine gone: it says no goodbye. Its row stayed for as long as the daemon lived.
def test_a_silent_session_is_no_longer_in_the_status_and_may_come_back(make_home, enter):
    home = make_home(orphan_grace_s=1)
    endpoint = home.ensure()
    silent, asks = enter(endpoint), enter(endpoint)
    silent.open_session(home.folder)
    silent.beats = False
    asks.beats = True

    def listed():
        asks.say("status_ask", question=7)
        status = json.loads(asks.wait_for("status_is")["document"])
        return silent.subject in [row["session"] for row in status["sessions"]]

    wait(listed, "the session's row")
    wait(lambda: not listed(), "the end of the row of one who is silent")
    silent.demand(waiting=1)
    silent.beats = True
    silent.wait_for("granted")
    assert listed()


# Two workers with 2**31 GPUs each had none.
@pytest.mark.parametrize("wrong", [{"gpus": 2**31, "workers": 2}, {"gpus": 4097}, {"memory_mib": 2**63}, {"time_min": -1}, {"workers": 0}])
def test_a_demand_out_of_bounds_is_a_protocol_error(home, enter, wrong):
    client = enter(home.ensure())
    client.open_session(home.folder)
    client.say("demand", session=client.subject, requests=[{"id": 1, "resources": wrong, "waiting": 1, "running": 0, "holds": []}])
    assert client.wait_for("refused")["error"]["code"] == "protocol"


def test_a_configuration_that_others_can_write_is_refused_with_its_path_and_remedy(home):
    home.config.chmod(0o666)
    error = home.failure()
    assert error["code"] == "bad_request" and str(home.config) in error["text"] and "others" in error["text"]
    assert f"chmod go-w {home.config}" in error["remedy"]
    home.config.chmod(0o600)
    home.ensure()


def test_a_machine_without_slurm_says_so_to_each_session(home, enter):
    if Path("/etc/slurm/slurm.conf").exists() or Path("/run/slurm/conf").exists():
        pytest.skip("this machine has a Slurm of its own")
    home.config.write_text(json.dumps({"heartbeat_ms": 200}))
    client = enter(home.ensure())
    client.open_session(home.folder)
    assert "no Slurm" in client.wait_for("notice")["text"]
