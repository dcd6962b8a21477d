"""The wheel, as docs/admin.md says it: built, installed by a user without root, and used to the end of a call, where none of the
libraries that it was built with can be seen."""

from __future__ import annotations

import json
import re
import subprocess
import zipfile
from pathlib import Path

import pytest
from bare_user import LIBRARIES, hidden_libraries
from conftest import FOUND, LONG, SYSTEMS, Installation, built_wheel, install_commands

CALL = """
import json, os, pounce
def where():
    maps = open("/proc/self/maps").read()
    return os.getpid(), sorted({line.split()[-1] for line in maps.splitlines() if ".so" in line})
with pounce.Client(launcher="local") as client:
    pid, libraries = client.submit(where).result()
    print(json.dumps([pid != os.getpid(), libraries, client.submit(pow, 2, 10).result()]))
"""
THE_PLATFORMS = re.compile(r"/(ld-linux-x86-64|libc|libm|libdl|libpthread|librt|libresolv|libutil|libgcc_s|libstdc\+\+)\.so")


def versions():
    """The system's Python in each run, the others in long ones; one that is not at hand is skipped with its name."""
    for version, python in FOUND.items():
        if python is None:
            reason = f"no Python {version} is at hand"
        else:
            reason = "" if LONG or version == SYSTEMS else "the other Pythons belong to long runs"
        yield pytest.param(version, marks=pytest.mark.skipif(bool(reason), reason=reason))


@pytest.fixture(scope="module", params=versions())
def installation(request, readable_folder):
    place = Installation(readable_folder / request.param, Path(FOUND[request.param]))
    wheel = built_wheel(request.param)
    (place.folder / "apps" / "wheels" / wheel.name).write_bytes(wheel.read_bytes())
    place.said = place.run("sh", "-ec", install_commands(place.folder / "apps", place.python))
    return place


@pytest.mark.timeout(25 * 60)
def test_the_pages_commands_install_it_for_a_user_who_sees_none_of_its_libraries(installation):
    assert len(hidden_libraries()) > 10 and any(name.startswith("libzmq.so") for name in hidden_libraries())
    hidden = installation.run("sh", "-c", f"ls {LIBRARIES} | grep -c -E '^lib(zmq|sodium|munge|spdlog|fmt|xxhash|slurm).*[.]so' || true")

    assert hidden.strip() == "0"
    assert re.search(r"^pounce +0\.1\.0$", installation.said, re.M)


def test_a_call_runs_to_its_end_with_the_libraries_of_the_wheel_alone(installation):
    said = installation.run(str(installation.bin / "python"), "-c", CALL)

    elsewhere, libraries, power = json.loads(said.splitlines()[-1])
    ours = [path for path in libraries if "pounce_hpc.libs" in path]
    assert elsewhere and power == 1024
    assert any("libzmq" in path for path in ours) and any("libcrypto" in path for path in ours)
    assert not [path for path in libraries if re.search(r"lib(zmq|sodium|munge|spdlog|fmt|xxhash)", path) and path not in ours]


@pytest.mark.parametrize("name", ["pounced", "pounce-worker", "pouncectl"])
def test_each_program_finds_all_its_libraries_in_the_wheel_or_the_platform(installation, name):
    said = installation.run("ldd", str(installation.bin / name))

    found = re.findall(r"^\s+(\S+) => (.*?)(?: \(0x|$)", said, re.M)
    assert len(found) > 10
    assert [pair for pair in found if "pounce_hpc.libs" not in pair[1] and not THE_PLATFORMS.search(pair[1])] == []


def test_version_tells_what_is_loaded(installation):
    version = json.loads(installation.run(str(installation.bin / "pouncectl"), "version", "--json"))

    for library in ("libzmq", "libsodium", "openssl", "glibc"):
        assert re.fullmatch(r"\d+\.\d+(\.\d+)?", version[library]), library
    assert "pounce_hpc.libs/libmunge" in version["libmunge"] and version["cloudpickle"]
    assert version["python"]["pounce"] == version["pounce"]
    assert version["python"]["program"] == str(installation.bin / "python")


def test_the_doctor_finds_nothing_wrong(installation):
    report = json.loads(installation.run(str(installation.bin / "pouncectl"), "doctor", "--json"))

    assert [check for check in report["checks"] if check["state"] == "wrong"] == []


def test_setup_without_a_slurm_says_so_with_what_to_do(installation):
    said = installation.run(str(installation.bin / "pouncectl"), "setup", "--json", code=1)

    error = json.loads(said)["error"]
    assert error["code"] == "no_slurm" and "--slurm DIR" in error["remedy"]


def test_the_wheel_carries_the_licence_of_each_library_in_it(installation):
    (wheel,) = (installation.folder / "apps" / "wheels").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()

    carried = [name for name in names if name.startswith("pounce_hpc.libs/")]
    assert len(carried) > 10
    licences = [name for name in names if "/licenses/carried/" in name]
    assert {"libzmq5", "libsodium23", "libssl3"} <= {name.rpartition("/")[2] for name in licences}
    assert "libslurm" not in " ".join(carried)


def test_a_wheel_says_in_its_name_which_glibc_it_needs(installation):
    (wheel,) = (installation.folder / "apps" / "wheels").glob("*.whl")
    needed = re.search(r"manylinux_2_(\d+)_", wheel.name)
    here = subprocess.run(["getconf", "GNU_LIBC_VERSION"], capture_output=True, text=True, check=True).stdout.split(".")[-1]

    assert needed and int(needed[1]) <= int(here)
