"""Leases as objects: how each stands now, and what is left of one that has ended."""

from __future__ import annotations

import pounce
from pounce import _core
from pounce.lease import Lease, of_session

QUEUED = _core.LeaseStatus(lease="aabbccdd00112233", state="queued", reason="everything that fits is in use", job=17, class_="lion",
                           slurm_reason="Resources", ahead=3, eta=_core.Eta(1_900_000_000, 1_899_999_000, 1_900_003_000, "2 running jobs"))
BUSY = _core.LeaseStatus(lease="aabbccdd00112233", state="busy", reason="ready", job=17, node="g1", devices="GPU 0",
                         end_time=1_900_009_000, class_="lion")


class Told:
    """A session that was told this of its one lease."""

    def __init__(self, told):
        self.told, self.core = told, self

    def leases(self):
        return [] if self.told is None else [self.told]

    def status_of(self, id):
        return self.told


def test_one_that_waits_says_why_and_until_when():
    (lease,) = of_session(Told(QUEUED))

    assert (lease.id, lease.state, lease.class_, lease.job, lease.node, lease.end_time) == ("aabbccdd00112233", "queued", "lion", 17, "", None)
    assert lease.why().ahead == 3 and lease.eta().start == 1_900_000_000 and lease.eta() == lease.why().eta
    assert repr(lease).startswith("<pounce.Lease aabbccdd queued (everything that fits is in use) · job 17 · starts in about ")


def test_it_shows_how_it_stands_now():
    session = Told(QUEUED)
    lease = Lease(session, QUEUED)

    session.told = BUSY

    assert (lease.state, lease.node, lease.devices, lease.end_time) == ("busy", "g1", "GPU 0", 1_900_009_000.0)
    assert lease.why() is None and lease.eta() is None
    assert repr(lease) == "<pounce.Lease aabbccdd busy on g1, GPU 0>"


def test_of_one_that_has_ended_the_last_is_kept():
    lease = Lease(Told(None), BUSY)

    assert (lease.state, lease.job, lease.node) == ("ended", 17, "g1") and lease.why() is None


def test_a_client_has_its_leases_and_a_future_the_one_that_it_runs_on(home):
    done = home.run("""
        import os, pounce, time
        def hold(flag):
            while not os.path.exists(flag):
                time.sleep(0.02)
        with pounce.Client(launcher="local") as client:
            report(before=len(client.leases()))
            future = client.submit(hold, "flag")
            while not future.running():
                time.sleep(0.02)
            report(same=future.lease.id == client.leases()[0].id, ready=future.lease.state in ("idle", "busy"))
            open("flag", "w").close()
            future.result(60)
            report(after=future.lease is None, lease=client.leases()[0].state in ("idle", "busy"))
    """)

    assert done.reports == {"before": 0, "same": True, "ready": True, "after": True, "lease": True}
    assert pounce.Lease is Lease
