"""The cores and src/job are pure: their archives need nothing but the C++ runtime's memory, strings, containers and exceptions.

`nm -uC` of each archive may list only symbols that it defines itself, that a pure module below it defines, or that the list below
allows. A call of a clock, a file, a socket, a thread, a random source or another module of ours fails with its name.

Environment: POUNCE_BUILD_DIR, the CMake build folder that holds the archives.
"""
import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

# archive: the pure archives below it
ARCHIVES = {
    "libpounce_job.a": [],
    "libpounce_core_forecast.a": [],
    "libpounce_core_lease.a": ["libpounce_job.a"],
    "libpounce_core_task.a": [],
    "libpounce_core_exec.a": [],
}

ALLOWED = [
    # memory
    r"operator new(\[\])?\(unsigned long(, std::(align_val_t|nothrow_t const&))?\)",
    r"operator delete(\[\])?\(void\*(, unsigned long)?(, std::align_val_t)?\)",
    r"mem(cpy|move|set|cmp|chr)",
    r"__mem(cpy|move|set)_chk",
    r"strlen",
    r"bcmp",
    # strings, containers, functions, exceptions of the standard library
    r"std::__throw_[a-z_]+(_fmt)?\(.*\)",
    r"std::_Rb_tree_(increment|decrement|insert_and_rebalance|rebalance_for_erase)\(.*\)",
    r"std::__detail::_(Prime_rehash_policy|List_node_base)::.*",
    r"std::_Hash_bytes\(.*\)",
    r"std::(__cxx11::)?basic_string<char.*",
    r"std::__cxx11::to_string.*",
    r"std::(exception|bad_alloc|bad_variant_access|bad_optional_access|bad_function_call|logic_error|runtime_error|"
    r"length_error|out_of_range|invalid_argument)::.*",
    r"(typeinfo|vtable) for std::(exception|bad_[a-z_]+|logic_error|runtime_error|length_error|out_of_range)",
    r"std::terminate\(\)",
    # of src/base: values alone (base/text.h, base/process.h)
    r"pounce::(joined|value_of)\(.*\)",
    # the exception machinery and the linker's own
    r"vtable for __cxxabiv1::__(si_|vmi_)?class_type_info",
    r"vtable for __cxxabiv1::__(function|pointer|enum)_type_info",
    r"__cxa_(allocate_exception|free_exception|throw|rethrow|begin_catch|end_catch|guard_acquire|guard_release|"
    r"guard_abort|pure_virtual|throw_bad_array_new_length|atexit|init_primary_exception)",
    r"_Unwind_Resume",
    r"__gxx_personality_v0",
    r"__libc_single_threaded",  # what std::shared_ptr looks at before it counts
    r"__dso_handle",
    r"__stack_chk_fail",
    r"_GLOBAL_OFFSET_TABLE_",
]
ALLOWED_RE = re.compile("|".join(f"(?:{pattern})" for pattern in ALLOWED))


def build_dir() -> Path:
    named = os.environ.get("POUNCE_BUILD_DIR")
    assert named, "POUNCE_BUILD_DIR does not name the build folder"
    return Path(named)


def symbols(archive: Path, *options: str) -> set[str]:
    out = subprocess.run(["nm", "-C", *options, str(archive)], check=True, capture_output=True, text=True).stdout
    return {line[19:].strip() for line in out.splitlines() if len(line) > 19 and line[17].strip()}


def offenders(archive: Path, below: Iterable[Path] = ()) -> list[str]:
    defined = symbols(archive, "--defined-only").union(*(symbols(other, "--defined-only") for other in below))
    return sorted(s for s in symbols(archive, "-u") - defined if not ALLOWED_RE.fullmatch(s))


@pytest.mark.parametrize("name", ARCHIVES)
def test_core_needs_only_the_runtime(name: str) -> None:
    archive = build_dir() / name
    assert archive.exists(), f"{archive} is not built"
    assert symbols(archive, "--defined-only"), f"nm shows nothing in {archive}"
    assert offenders(archive, [build_dir() / other for other in ARCHIVES[name]]) == []


@pytest.mark.parametrize(
    "header, line",
    [
        ("iostream", "std::cout << 1;"),
        ("cstdlib", "getenv(\"HOME\");"),
        ("chrono", "std::chrono::steady_clock::now();"),
        ("random", "std::random_device{}();"),
        ("thread", "std::thread([] {}).join();"),
        ("ctime", "time(nullptr);"),
        ("cstdio", "fopen(\"x\", \"r\");"),
    ],
)
def test_the_check_finds_a_planted_call(header: str, line: str, tmp_path: Path) -> None:
    source, obj, archive = tmp_path / "p.cc", tmp_path / "p.o", tmp_path / "p.a"
    source.write_text(f"#include <{header}>\nvoid planted() {{ {line} }}\n")
    subprocess.run(["c++", "-std=c++20", "-c", "-w", str(source), "-o", str(obj)], check=True)
    subprocess.run(["ar", "cr", str(archive), str(obj)], check=True)
    assert offenders(archive) != []
