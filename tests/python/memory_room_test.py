"""How much memory is left: of the job and of each cgroup above it."""

from __future__ import annotations

from pounce._worker import memory_room


def test_the_tightest_cgroup_on_the_way_up_counts(tmp_path, monkeypatch):
    for path, limit, used in (("job", "max", 5), ("job/step", "3000000", 1_000_000), ("job/step/task", "max", 1)):
        folder = tmp_path / path
        folder.mkdir(parents=True)
        (folder / "memory.max").write_text(f"{limit}\n")
        (folder / "memory.current").write_text(f"{used}\n")
    mine = tmp_path / "mine"
    mine.write_text("1:name=x:/\n0::/job/step/task\n")
    monkeypatch.setattr(memory_room, "_CGROUPS", str(tmp_path))
    monkeypatch.setattr(memory_room, "_OWN", str(mine))

    assert memory_room.bytes_left() == 2_000_000


def test_without_cgroups_it_is_what_the_machine_has(tmp_path, monkeypatch):
    monkeypatch.setattr(memory_room, "_OWN", str(tmp_path / "nowhere"))

    assert 1e6 < memory_room.bytes_left() < 1e15
