"""A real Prometheus scrapes the figures of a real pounced, and answers what the dashboard asks it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
from metrics_documents import MONITORING, expressions
from pounce.insight.metrics.families import OWN, series_of

pytest.importorskip("prometheus_client", reason="prometheus_client is not installed: packaging/environment --examples")
pytestmark = pytest.mark.skipif(shutil.which("prometheus") is None, reason="prometheus is not here: packaging/install-system --only monitoring")

EXPORTER = "import sys; from pounce.insight.metrics.command import main; sys.exit(main(sys.argv[1:]))"
CONFIG = """
global: {{scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}}
rule_files: [{rules}]
scrape_configs:
  - job_name: pounce
    static_configs: [{{targets: ["{target}"]}}]
"""


class Prometheus:
    def __init__(self, folder, target: str):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.url = f"http://127.0.0.1:{free.getsockname()[1]}/api/v1/"
        (folder / "prometheus.yml").write_text(CONFIG.format(target=target, rules=MONITORING / "alerts.yml"))
        self.log = folder / "prometheus.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(["prometheus", f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
                                             f"--web.listen-address={self.url.split('/')[2]}"], stdout=log, stderr=log)

    def get(self, what: str, **words: str) -> dict:
        with urllib.request.urlopen(f"{self.url}{what}?{urllib.parse.urlencode(words)}", timeout=10) as answer:
            return json.load(answer)["data"]

    def value(self, expression: str) -> list[float]:
        return [float(one["value"][1]) for one in self.get("query", query=expression)["result"]]

    def until(self, expression: str, condition, seconds: float = 90) -> list[float]:
        deadline = time.monotonic() + seconds
        while True:
            found = []
            with contextlib.suppress(urllib.error.URLError):  # it starts
                found = self.value(expression)
            if condition(found):
                return found
            assert time.monotonic() < deadline and self.process.poll() is None, f"{expression}: {found}\n{self.log.read_text()}"
            time.sleep(0.1)


@pytest.fixture
def scraped(home, tmp_path):
    """A pounced with a lease, its exporter, and the Prometheus that scrapes that."""
    os.mkfifo(home.folder / "go")
    script = home.start("""
    client = pounce.Client()
    client.submit(pow, 2, 3).result()
    report(begun=True)
    open(os.environ["HOME"] + "/go").read()  # waits for the test
    client.options(gpus=1).submit(pow, 2, 3).result()
    report(done=True)
    time.sleep(3600)
    """)
    script.until(lambda script: "begun" in script.reports, "a first lease")
    exporter = subprocess.Popen([sys.executable, "-c", EXPORTER, "--listen", "127.0.0.1:0", "--every", "1s"], env=home.environment, stdout=subprocess.PIPE, text=True)
    prometheus = Prometheus(tmp_path, exporter.stdout.readline().split("/")[2])
    yield home, script, prometheus
    for process in (prometheus.process, exporter):
        process.terminate()
        process.wait(60)
    exporter.stdout.close()


def test_a_prometheus_has_what_pounced_says_and_counts_the_next_lease(scraped):
    home, script, prometheus = scraped
    prometheus.until("pounce_up", lambda found: found == [1.0])
    assert prometheus.value('sum(pounce_leases{state=~"idle|busy"})') == [1.0]
    assert prometheus.value("pounce_lease_starts_total") == [0.0]

    (home.folder / "go").write_text("go")
    script.until(lambda script: "done" in script.reports, "a second lease")
    assert prometheus.until("sum(pounce_lease_starts_total)", lambda found: found == [1.0])
    assert prometheus.value("sum(pounce_lease_wait_seconds_count)") == [1.0]
    assert prometheus.until("pounce_gpu_held_seconds_total", lambda found: found[0] > 0)
    assert 1e6 < prometheus.value("pounce_daemon_resident_memory_bytes")[0] < 1e9 and prometheus.value("pounce_daemon_wakeups_total")[0] > 0

    kinds = {name: about[0]["type"] for name, about in prometheus.get("metadata").items()}
    scraped_families = [family for family in OWN if family.name in kinds]
    assert len(scraped_families) > 20 and all(kinds[family.name] == family.kind for family in scraped_families)
    for family in scraped_families:
        assert prometheus.value(f"count({series_of(family)[0]})"), family.name

    for expression in expressions()["dashboard"]:  # what the dashboard draws, as Grafana puts its variables in
        if not expression.startswith("label_values"):
            prometheus.value(expression.replace("$instance", ".*").replace("$__rate_interval", "2m"))
    rules = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
    assert len(rules) == len(expressions()["alerts"]) and {rule["health"] for rule in rules} <= {"ok", "unknown"}
