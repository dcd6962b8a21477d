"""``pounce-bench``: its command line and its report."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

from . import cases, check, idle, lease_times, park, round_trips, transports
from .home import own_home
from .rounds import Table

_CASES = {
    "rtt": (round_trips.rtt, "one call after another, and what each costs in wake-ups"),
    "rtt-bridge": (round_trips.rtt_bridge, "the same to another network namespace; needs root"),
    "rtt-paused": (round_trips.rtt_paused, "a call every millisecond, beside two pipes between two processes"),
    "throughput": (cases.throughput, "10,000 calls at once, and map over 100,000 items"),
    "scatter": (cases.scatter, "an array to a worker, and the same one again"),
    "gather": (cases.gather, "an array back"),
    "bridge": (transports.across, "an array to another network namespace and back; needs root"),
    "scaling": (transports.scaling, "one array to 1, 2, 4 and 8 workers at once"),
    "curve": (transports.curve, "1 MiB to 4 GiB, over each road that data can take"),
    "lease": (lease_times.lease, "from nothing leased to the first line"),
    "idle": (idle.idle, "what leases and notebooks cost that have nothing to do"),
    "park": (park.park, "a namespace to the disk and back, beside dill and cloudpickle"),
}

_OWN_HOMES = ("rtt-bridge", "bridge", "scaling", "curve")  # these run pounced elsewhere, or several of them


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--rounds", type=int, default=5,
                        help="each contender is measured once in each (default %(default)s)")
    common.add_argument("--json", action="store_true", help="one line of JSON instead of tables")
    common.add_argument("--peers", action="store_true",
                        help="also what else is installed: ProcessPoolExecutor, dask, …")
    common.add_argument("--calls", type=int, default=2000,
                        help="of a round; throughput makes five times as many (default %(default)s)")
    common.add_argument("--mib", type=int, default=1024,
                        help="size of the array; of park's largest state (default %(default)s)")
    common.add_argument("--most", type=int, default=4096, help="MiB, the largest array of curve (default %(default)s)")
    common.add_argument("--seconds", type=float, default=30, help="how long idle looks (default %(default)s)")
    common.add_argument("--leases", type=int, default=3, help="how many idle holds (default %(default)s)")
    common.add_argument("--notebooks", type=int, default=0,
                        help="how many idle ones with a client stand beside them (default %(default)s)")
    common.add_argument("--launcher", choices=["local", "slurm"], default="local",
                        help="local (default): workers of a pounced of its own on this machine; slurm: yours")
    common.add_argument("--class", dest="class_", help="of the leases, with --launcher slurm")
    common.add_argument("--gpus", help="of each lease: 1, a100:2")
    common.add_argument("--memory", help="of each lease: 1GB")
    common.add_argument("--folder", type=Path, help="where park writes (default: the folder for temporary files)")
    common.add_argument("--floors", type=Path,
                        help="folder of the floors in C++ (a build with POUNCE_TESTS: its tests folder)")
    parser = argparse.ArgumentParser(prog="pounce-bench",
                                     description="What pounce costs here, beside floors and beside others.")
    commands = parser.add_subparsers(dest="case", required=True, metavar="CASE")
    for name, (_, about) in _CASES.items():
        commands.add_parser(name, parents=[common], help=about, description=about)
    commands.add_parser("check", help="counts what calls and data cost, and fails where that grew")
    return parser


def _settings(options: argparse.Namespace) -> cases.Settings:
    resources = {"class_": options.class_, "gpus": _number(options.gpus), "memory": options.memory}
    client = {"launcher": options.launcher, **{name: value for name, value in resources.items() if value is not None}}
    return cases.Settings(options.rounds, options.calls, options.mib, options.most, options.seconds, options.leases,
                          options.notebooks, options.peers, options.floors, options.folder, client)


def _number(text: str | None) -> int | str | None:
    return int(text) if text is not None and text.isdigit() else text


def machine() -> dict[str, Any]:
    return {"cores": os.cpu_count(), "load": round(os.getloadavg()[0], 2), "python": platform.python_version(),
            "system": f"{platform.system()} {platform.release().split('-')[0]} {platform.machine()}"}


def _show(table: Table) -> str:
    lines = [f"\n{table.title}" + (f" [{table.unit}]" if table.unit else "")]
    wide = max(len(name) for name in table.figures)
    lines.append(f"  {'':{wide}} {'median':>10} {'least':>10} {'most':>10}")
    for row in table.as_json()["rows"]:  # type: ignore[attr-defined]
        figures = " ".join(f"{row[key]:>10,}" for key in ("median", "least", "most"))
        lines.append(f"  {row['name']:{wide}} {figures}  {row.get('note', '')}".rstrip())
    for goal in table.as_json()["goals"]:  # type: ignore[attr-defined]
        verdict = "not measured"
        if goal["value"] is not None:
            verdict = f"{goal['value']:,}: {'met' if goal['met'] else 'missed'}"
        lines.append(f"  goal: {goal['goal']}: {verdict}")
    return "\n".join(lines)


def main() -> int:
    if sys.argv[1:2] == ["check"]:
        return check.main(sys.argv[2:])
    options = _parser().parse_args()
    run, _ = _CASES[options.case]
    needs_home = options.launcher == "local" and options.case not in _OWN_HOMES
    with own_home() if needs_home else contextlib.nullcontext():
        report = run(_settings(options))
    if options.json:
        print(json.dumps({"bench": options.case, "machine": machine(), "tables": [t.as_json() for t in report.tables],
                          "not_installed": report.missing}))
        return 0
    facts = machine()
    print(f"{options.case}: {facts['cores']} cores, load {facts['load']}, Python {facts['python']}, {facts['system']}")
    print("\n".join(_show(table) for table in report.tables))
    if report.missing:
        print(f"\nnot installed: {', '.join(report.missing)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
