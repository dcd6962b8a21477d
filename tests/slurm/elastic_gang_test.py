"""An elastic gang on a real Slurm: a node joins late, one leaves, and the program goes on from what it saved."""

from __future__ import annotations

from pathlib import Path

import pytest
from login_node import wait_until

TRAINS = """
    import pounce
    def train(folder):
        import pathlib
        me, kept = pounce.rank(), pathlib.Path(folder, "kept")
        begin, weight = kept.read_text().split() if kept.exists() else (0, 1.0)
        begin, weight = int(begin), float(weight)
        with open(f"{folder}/rounds", "a") as rounds:
            rounds.write(f"{me.rank} of {me.world_size} from {begin}\\n")
        for epoch in range(begin, 1_000_000):
            time.sleep(0.05)
            weight -= 0.01 * 2 * weight  # a step down the slope of its square
            if me.rank == 0:
                with open(f"{folder}/curve", "a") as curve:
                    curve.write(f"{epoch} {weight ** 2}\\n")
                kept.with_suffix(".new").write_text(f"{epoch + 1} {weight}")
                kept.with_suffix(".new").rename(kept)
            if pathlib.Path(folder, "end").exists():
                return me.world_size
    with pounce.gang(nodes="1:2", cpus=1, memory="200MB", class_="lion", time="10min") as gang:
        report(ends=gang.run(train, FOLDER))
"""


def test_a_node_joins_late_another_one_leaves_and_the_program_goes_on_from_what_it_saved(quiet_cluster, login_node, make_user):
    alice = make_user("alice", login_node(quiet_cluster))
    folder = Path(alice.run("mktemp", "-d").strip())
    others = [alice.run("sbatch", "--parsable", "--qos=lion", "--time=10", "--mem=10", "--wrap=sleep 600").strip() for _ in range(3)]  # of four
    run = alice.python(TRAINS.replace("FOLDER", repr(str(folder))))
    rounds = lambda: alice.run("cat", str(folder / "rounds"), check=False).splitlines()
    saved = lambda: int((alice.run("cat", str(folder / "kept"), check=False) or "0").split()[0])
    wait_until(lambda: saved() > 3, 90, "the first round runs, on the one node that the class gives")
    assert rounds() == ["0 of 1 from 0"]

    alice.run("scancel", *others)
    wait_until(lambda: len(rounds()) == 3, 90, "both run")
    joined = rounds()[1:]
    begin = int(joined[0].split()[-1])
    assert begin > 3 and sorted(line[:6] for line in joined) == ["0 of 2", "1 of 2"]

    wait_until(lambda: saved() > begin + 3, 60, "the second round runs")
    alice.run("scancel", alice.jobs()[0]["id"])
    wait_until(lambda: len(rounds()) > 3, 90, "the one that is left goes on")
    assert int(rounds()[3].split()[-1]) > begin + 3
    alice.run("touch", str(folder / "end"))
    assert set(run.reported("ends", 90)) in ({1}, {2})

    curve = [line.split() for line in alice.run("cat", str(folder / "curve")).splitlines()]
    epochs = [int(epoch) for epoch, _ in curve]
    assert sorted(set(epochs)) == list(range(max(epochs) + 1)) and len(epochs) - len(set(epochs)) <= 2  # at most the one that was saved last, twice
    assert all(float(loss) == pytest.approx(0.98 ** (2 * (epoch + 1))) for epoch, (_, loss) in zip(epochs, curve, strict=True))
