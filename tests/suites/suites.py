"""The suites: what each builds, starts and runs. Their order is in schedule.py."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import slurm_table

from .commands import BUILD, CORES, DEMO, LOGS, PYTHON, ROOT, Failed, LeftOut, command, each_of, say
from .programs import ctest, googletest, pytest
from .reports import Case, Report, report_path

CLUSTER = str(ROOT / "packaging" / "cluster")
QUICK, NORMAL, LONG = "quick", "normal", "long"


@dataclass(frozen=True)
class Options:
    """Of one run of `tests/run`."""

    speed: str = NORMAL
    release: str = ""     # of the slurm suite's cluster; empty: the machine's
    record: bool = False  # what the slurm suite has seen goes into docs/slurm.json
    names: tuple[str, ...] = ()

    @property
    def environment(self) -> dict[str, str]:
        return {"POUNCE_LONG_RUN": "1"} if self.speed == LONG else {}


@dataclass(frozen=True)
class Suite:
    name: str
    about: str
    run: Callable[[Options], list[Report]]
    speeds: frozenset[str]
    behind: Callable[[Options], None] | None = None  # begun with the first suites, with what they leave of the processors


# ---- what is built ---------------------------------------------------------------------------------------------------


def install(options: Options) -> list[Report]:
    command("install", [str(ROOT / "packaging" / "install-system")])
    command("install", [str(ROOT / "packaging" / "environment"), "--examples", str(DEMO)])
    command("install", [str(ROOT / "packaging" / "lab-environment")])
    if options.speed == LONG:
        command("install", [str(ROOT / "packaging" / "lab-environment"), "--front-ends"])
    return []


def compiled(log: str, folder: Path, *cmake: str, targets: tuple[str, ...] = (), behind: bool = False) -> None:
    command(log, ["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", "-DPOUNCE_TESTS=ON",
                  f"-DPython_EXECUTABLE={PYTHON}", *cmake], behind)
    command(log, ["ninja", "-C", str(folder), f"-j{CORES}", *targets], behind)


def build(options: Options) -> list[Report]:
    compiled("build", BUILD / "release", "-DCMAKE_BUILD_TYPE=Release")
    return []


CLANG = ("-DCMAKE_CXX_COMPILER=clang++", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -gline-tables-only",
         "-DPOUNCE_PYTHON=OFF")
SANITIZED = (*CLANG, "-DPOUNCE_SANITIZE=address,undefined")


# ---- on this machine -------------------------------------------------------------------------------------------------


def rules(options: Options) -> list[Report]:
    return [pytest("rules", "tests/rules_test.py", "tests/purity_test.py", "tests/types_test.py", "tests/second_look_test.py")]


NEEDS_MUNGED, NEEDS_SLURM = "^MungeTest", "/slurm$"  # run by the slurm suite, the second by pounce_slurm_test.py as alice


def unit(options: Options) -> list[Report]:
    return googletest("unit", BUILD / "release", "^(unit|contract)$", f"{NEEDS_MUNGED}|{NEEDS_SLURM}", **options.environment)


def fuzz(options: Options) -> list[Report]:
    seeds = "10000" if options.speed == LONG else "500"
    reports = [ctest("fuzz", BUILD / "release", "-L", "^fuzz$", POUNCE_FUZZ_SEEDS=seeds)]
    return reports + (a_million_histories() if options.speed == LONG else [])


def a_million_histories() -> list[Report]:
    """Two halves at once, of the simulation alone: its planted bugs have been looked for above."""
    paths = {first: report_path(f"fuzz-from-{first}") for first in (1, 500_001)}
    program = str(BUILD / "release" / "tests" / "simulator")
    each_of([partial(command, f"fuzz-from-{first}", [program, "--gtest_filter=Simulation.EveryHistory*", f"--gtest_output=xml:{path}"],
                     POUNCE_FUZZ_FIRST=str(first), POUNCE_FUZZ_SEEDS="500000", limit_s=2 * 3600) for first, path in paths.items()])
    return [Report(path) for path in paths.values()]


def build_asan(options: Options) -> None:
    compiled("asan-build", BUILD / "asan", *SANITIZED, targets=("sanitized",), behind=True)


def asan(options: Options) -> list[Report]:
    left_out = f"{NEEDS_MUNGED}|{NEEDS_SLURM}"
    strict = {"UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
    return [*googletest("asan", BUILD / "asan", "^(unit|contract)$", left_out, **strict),
            ctest("asan-fuzz", BUILD / "asan", "-L", "^fuzz$", "-E", left_out, POUNCE_FUZZ_SEEDS="60", **strict)]


def decoders(options: Options) -> list[Report]:
    """One program for each decoder, and one for the daemon, a minute each; what ends one lies in the repository's folder as crash-…"""
    folder = BUILD / "fuzzers"
    compiled("decoders-build", folder, *SANITIZED, "-DPOUNCE_FUZZERS=ON", targets=("fuzzers",))
    for program in sorted((folder / "tests").glob("fuzz_*")):
        corpus = folder / "corpus" / program.name
        corpus.mkdir(parents=True, exist_ok=True)
        limit = 0 if program.name == "fuzz_daemon" else 10  # libFuzzer's alarm would read the clock that a life moves
        words = [] if program.name == "fuzz_daemon" else [f"-dict={corpus}.dict"]
        command("decoders", [str(program), "-max_total_time=60", f"-timeout={limit}", *words, str(corpus)], POUNCE_SEEDS_TO=str(corpus))
    return []


def tsan(options: Options) -> list[Report]:
    """libzmq is not compiled for it: tests/tsan.supp leaves out what happens inside. It takes several times the memory, and most of the
    addresses: not for tests that bound the one or ask for all of the other."""
    no_room = "-*JobMemoryTest*:*AClientWithoutMemory*"
    programs = ("unit_client", "unit_transport", "unit_worker", "unit_control", "unit_memory", "unit_bulk", "unit_tls", "contract_lanes",
                "contract_device")
    compiled("tsan-build", BUILD / "tsan", *CLANG, "-DPOUNCE_SANITIZE=thread", targets=programs)
    paths = [report_path(f"tsan-{program}") for program in programs]
    for program, path in zip(programs, paths, strict=True):
        command("tsan", [str(BUILD / "tsan" / "tests" / program), f"--gtest_output=xml:{path}", f"--gtest_filter={no_room}"],
                TSAN_OPTIONS=f"suppressions={ROOT / 'tests' / 'tsan.supp'}:second_deadlock_stack=1")
    return [Report(path) for path in paths]


def python(options: Options) -> list[Report]:
    """Several at a time: most of them wait."""
    return [pytest("python", "tests/python", at_once=CORES, **options.environment)]


def system(options: Options) -> list[Report]:
    return [pytest("system", "tests/system", at_once=CORES, **options.environment)]


def installed(options: Options) -> list[Report]:
    """What people install, built and used as docs/admin.md says; the machine's other users see nothing of it."""
    return [pytest("installed", "tests/installed", CXX="/usr/bin/c++", **options.environment)]


def bench(options: Options) -> list[Report]:
    command("bench", [str(ROOT / "tests" / "bench" / "run")])
    say((LOGS / "bench.log").read_text())
    return []


# ---- on a real Slurm -------------------------------------------------------------------------------------------------

NOTEBOOK_CLUSTER, CHAOS_CLUSTER, RELEASES_CLUSTER = "9", "8", "10"  # the slurm suite has 0, what its tests start 20 to 149


def slurm(options: Options) -> list[Report]:
    """The scenarios mostly wait for Slurm: six at a time on two cores, each on a login node of its own."""
    try:
        return on_a_cluster("slurm", "0", options.release, ["tests/slurm"], options, munge=True)
    finally:
        if options.record:
            slurm_table.record(options.release, LOGS / "slurm.xml")


def releases(options: Options) -> list[Report]:
    """Of other Slurms than the machine's, where their sources are: of the newest a selection, in long runs all of each."""
    if not releases_at_hand():
        raise LeftOut("there are no sources of another Slurm (POUNCE_SLURM_SOURCES)")
    if options.speed == LONG:
        return [report for release in releases_at_hand()
                for report in on_a_cluster(f"slurm-{release}", "0", release, ["tests/slurm"], options)]
    tests = [f"tests/slurm/{name}" for name in slurm_table.SMOKE]
    return on_a_cluster("releases", RELEASES_CLUSTER, releases_at_hand()[-1], tests, options, at_once=3)  # beside the slurm suite


def build_release(options: Options) -> None:
    if releases_at_hand() and options.speed != LONG:
        command("releases-build", [CLUSTER, "build", releases_at_hand()[-1]], behind=True)


def releases_at_hand() -> list[str]:
    sources = Path(os.environ.get("POUNCE_SLURM_SOURCES") or ROOT.parent / "shared" / "slurm-sources")
    return sorted({"{}.{}".format(*archive.name.split("-")[1:3]) for archive in sources.glob("slurm-*-*-*.tar.xz")})


def on_a_cluster(name: str, number: str, release: str, tests: list[str], options: Options, munge: bool = False,
                 at_once: int = 6) -> list[Report]:
    of = {"POUNCE_CLUSTER_ID": number, **({"POUNCE_CLUSTER_SLURM": release} if release else {})}
    command(name, [CLUSTER, "up"], **of)
    try:
        reports = [ctest(f"{name}-munge", BUILD / "release", "-R", NEEDS_MUNGED)] if munge else []
        reports += [pytest(name, *tests, at_once=at_once, POUNCE_BUILD=str(BUILD / "release"), **of, **options.environment)]
    finally:  # jobs whose daemons a test killed on purpose would still be in the notebook's queue
        command(name, [CLUSTER, "down"], **of)
    return [replace(report, again=partial(_again_on_a_cluster, name, of, report)) for report in reports]


def _again_on_a_cluster(name: str, of: dict[str, str], report: Report, cases: list[Case]) -> list[Report]:
    command(f"{name}-again", [CLUSTER, "up"], **of)
    try:
        return report.again(cases) if report.again else []
    finally:
        command(f"{name}-again", [CLUSTER, "down"], **of)


def chaos(options: Options) -> list[Report]:
    """Always the same faults, so that a failure is one of the change; a long run has others each day, and says which."""
    oracle, path = pytest("chaos-oracle", "tests/chaos"), report_path("chaos")
    faults, seed = ("1000", str(int(time.time()) // 86400)) if options.speed == LONG else ("60", "1")
    words = [PYTHON, str(ROOT / "tests" / "chaos" / "run"), "--faults", faults, "--seed", seed, "--junit", str(path)]
    try:
        command("chaos", words, POUNCE_CLUSTER_ID=CHAOS_CLUSTER, limit_s=3 * 3600 if options.speed == LONG else 40 * 60)
    finally:
        command("chaos", [CLUSTER, "down"], POUNCE_CLUSTER_ID=CHAOS_CLUSTER)
    return [oracle, Report(path)]


def notebook(options: Options) -> list[Report]:
    """quickstart as a newcomer runs it; each run of the notebook says in a file what became of it."""
    paths = [report_path(f"notebook-{run}") for run in ("login", "lion")]
    of = {"POUNCE_CLUSTER_ID": NOTEBOOK_CLUSTER}
    try:
        command("notebook", [str(ROOT / "packaging" / "quickstart")], POUNCE_QUICKSTART_REPORTS=str(LOGS), **of)
    finally:
        command("notebook", [CLUSTER, "down"], **of)
    absent = [path.stem for path in paths if not path.exists()]
    if absent:
        raise Failed(f"quickstart ended without an error, but there is no result of {' and '.join(absent)}")
    return [Report(path) for path in paths]


# ---- all of them -----------------------------------------------------------------------------------------------------

_ALL, _FULL, _LONG = frozenset({QUICK, NORMAL, LONG}), frozenset({NORMAL, LONG}), frozenset({LONG})
SUITES = [
    Suite("install", "system packages and /opt/pounce-demo", install, _ALL),
    Suite("build", "gcc, Release, -Wall -Wextra -Werror", build, _ALL),
    Suite("rules", "include table, licences, words, links, purity, types", rules, _ALL),
    Suite("unit", "C++ unit and contract tests", unit, _ALL),
    Suite("fuzz", "seeded random: faults in the simulator, messages against the daemon, texts against the decoders", fuzz, _ALL),
    Suite("python", "the package, with the local launcher", python, _ALL),
    Suite("system", "real processes on loopback, attacks", system, _ALL),
    Suite("slurm", "a real Slurm: a lease's life and every trouble", slurm, _FULL),
    Suite("releases", "the newest Slurm whose sources are here: a selection of those scenarios", releases, _FULL, build_release),
    Suite("installed", "the wheel for a user without root, the Debian package", installed, _FULL),
    Suite("notebook", "quickstart: the example notebook, twice", notebook, _FULL),
    Suite("asan", "clang, ASan and UBSan: unit, contract and fuzzing", asan, _FULL, build_asan),
    Suite("chaos", "faults at random on a real Slurm, an oracle outside", chaos, _FULL),
    Suite("tsan", "clang, ThreadSanitizer: client, leader token, worker", tsan, _LONG),
    Suite("decoders", "libFuzzer on what reads bytes of others, and on the daemon", decoders, _LONG),
    Suite("bench", "ratios to floors; prints only", bench, _LONG),
]


def chosen(options: Options) -> list[Suite]:
    """Those that were named; else those of this speed."""
    return [suite for suite in SUITES if (suite.name in options.names if options.names else options.speed in suite.speeds)]
