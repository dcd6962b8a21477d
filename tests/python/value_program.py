"""What becomes of each kind of value by each way. Prints `REPORT {way: {kind: what went wrong, or empty}}`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from shell_cells import cell, names, on_worker
from value_kinds import KINDS

Numbers = list[int]
Found = list[str]  # of each number: empty, or what went wrong
ATTEMPT = """
def attempt(holds, value):
    try:
        return "" if holds(value) else "it does not hold there"
    except Exception as error:
        return f"there: {type(error).__name__}: {error}"
def same(value): return value
"""


def listed(parts: Iterable[str]) -> str:
    return f"[{', '.join(parts)}]"


def here(numbers: Numbers, letter: str) -> Found:
    """Whether in this process what the letter's names have is what it should be."""
    cell(f"seen = {listed(f'attempt(holds{n}, {letter}{n})' for n in numbers)}")
    return [said.replace("there", "here") for said in names["seen"]]


# ---- each: what a cell raised, and what was found of each number ----

def made(numbers: Numbers) -> tuple[str, Found]:
    sources = (f"{kind.defines}\ndef makes{n}(): return {kind.makes}\ndef holds{n}(v): return {kind.holds}\nv{n} = makes{n}()"
               for n in numbers for kind in [KINDS[n]])
    return cell("\n".join(sources)), here(numbers, "v")


def argument(numbers: Numbers) -> tuple[str, Found]:
    failed = cell(f"seen = [client.submit(attempt, *each).result() for each in {listed(f'(holds{n}, v{n})' for n in numbers)}]")
    return failed, names["seen"]


def result(numbers: Numbers) -> tuple[str, Found]:
    return cell("\n".join(f"r{n} = client.submit(makes{n}).result()" for n in numbers)), here(numbers, "r")


def there_and_back(numbers: Numbers) -> tuple[str, Found]:
    return cell("\n".join(f"b{n} = client.submit(same, v{n}).result()" for n in numbers)), here(numbers, "b")


def variable(numbers: Numbers) -> tuple[str, Found]:
    return on_worker(f"seen = {listed(f'attempt(holds{n}, v{n})' for n in numbers)}", "seen"), names["seen"]


def brought(numbers: Numbers) -> tuple[str, Found]:
    failed = on_worker("\n".join(f"w{n} = makes{n}()" for n in numbers), ",".join(f"w{n}" for n in numbers))
    return failed, [] if failed else here(numbers, "w")


def sent_and_restored(numbers: Numbers) -> tuple[str, Found]:
    return variable(numbers)


def made_there_and_restored(numbers: Numbers) -> tuple[str, Found]:
    return on_worker(f"seen = {listed(f'attempt(holds{n}, w{n})' for n in numbers)}", "seen"), names["seen"]


def restored_and_brought(numbers: Numbers) -> tuple[str, Found]:
    failed = on_worker("None", ",".join(f"w{n}" for n in numbers))
    return failed, [] if failed else here(numbers, "w")


def argument_after_it(numbers: Numbers) -> tuple[str, Found]:
    return argument(numbers)


def found_by(way: Callable[[Numbers], tuple[str, Found]], numbers: Numbers) -> Found:
    """All in one go; what fails as a whole is halved until the guilty ones are alone."""
    failed, found = way(numbers)
    if not failed:
        return found
    if len(numbers) == 1:
        return [failed]
    half = len(numbers) // 2
    return found_by(way, numbers[:half]) + found_by(way, numbers[half:])


def main() -> None:
    numbers = list(range(len(KINDS)))
    report = {}
    cell(f"import pounce\nclient = pounce.Client()\n{ATTEMPT}")
    for way in (made, argument, result, there_and_back, variable, brought):
        report[way.__name__] = found_by(way, numbers)
    cell("%pounce release")
    for way in (sent_and_restored, made_there_and_restored, restored_and_brought, argument_after_it):
        report[way.__name__] = found_by(way, numbers)
    cell("%pounce release")
    says = [kind.says for kind in KINDS]
    print("REPORT " + json.dumps({way: dict(zip(says, found, strict=True)) for way, found in report.items()}), flush=True)


main()
