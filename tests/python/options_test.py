"""The words of ``options()`` and what they become."""

from __future__ import annotations

from datetime import timedelta

import pytest
from conftest import resources
from pounce import BadRequest, Client, _core
from pounce._engine.options import Options


@pytest.mark.parametrize(
    ("value", "gpus", "kind"),
    [(0, 0, ""), (2, 2, ""), ("1", 1, ""), ("a100", 1, "a100"), ("a100:2", 2, "a100"), ("a100_3g.20gb", 1, "a100_3g.20gb")],
)
def test_gpus(value, gpus, kind):
    options = Options().changed(gpus=value)

    assert (options.resources.gpus, options.resources.gpu_type) == (gpus, kind)


@pytest.mark.parametrize(
    ("value", "mib"),
    [("8GB", 8192), ("8 GiB", 8192), ("8g", 8192), ("300MB", 300), ("1.5G", 1536), ("1T", 2**20), (2**30, 1024), ("512K", 1)],
)
def test_memory(value, mib):
    assert Options().changed(memory=value).resources.memory_mib == mib


@pytest.mark.parametrize(
    ("value", "minutes"),
    [("20min", 20), ("2h", 120), (90, 2), (timedelta(hours=1), 60), ("00:20:00", 20), ("1-12:00:00", 2160), ("30 s", 1), ("1 day", 1440)],
)
def test_time_is_rounded_up_to_slurms_minutes(value, minutes):
    assert Options().changed(time=value).resources.time_min == minutes


def test_a_class_has_a_name():
    assert Options().changed(class_="cheetah").resources.class_ == "cheetah"


@pytest.mark.parametrize(
    "words",
    [dict(gpu_type=""), dict(gpu_type=[]), dict(gpu_type="a100:2"), dict(gpu_memory="big"), dict(cuda="new"), dict(cuda=True), dict(cuda="12.4.1"),
     dict(nodes=0), dict(nodes=257), dict(nodes="2"), dict(spread="yes"), dict(not_nodes=""), dict(not_nodes=["a b"]), dict(account=""), dict(account="a,b"),
     dict(reservation=3), dict(nice=-1), dict(nice="5"), dict(nice=True), dict(nice=2147483646), dict(slurm="constraint"), dict(slurm={"nice": 1.5}), dict(slurm={"--": 1}), dict(workers=0), dict(workers=257), dict(workers="8"), dict(workers=True), dict(gpus=""), dict(gpus=-1), dict(gpus=True), dict(gpus="a100:x"), dict(cpus=0), dict(cpus="4"), dict(memory="lots"),
     dict(memory=0), dict(time="soon"), dict(time=0), dict(time="1:2:3:4"), dict(time="0"), dict(time="UNLIMITED"), dict(class_=""), dict(class_=3)],
)
def test_a_value_that_means_nothing_is_refused_with_examples(words):
    (name,) = words

    with pytest.raises(BadRequest, match=name):
        Options().changed(**words)


def test_an_unknown_name_lists_the_valid_ones():
    with pytest.raises(BadRequest, match=r"workers=, gpus=, class_=, time=, memory=, cpus="):
        Options().changed(colour="red")


def test_qos_is_answered_with_class():
    with pytest.raises(BadRequest, match="use class_= instead"):
        Options().changed(qos="cheetah")


def test_views_add_up():
    options = Options().changed(gpus="a100:2", memory="1GB").changed(gpus=1)

    assert options.resources == _core.Resources(gpus=1, memory_mib=1024)


def test_a_clients_own_options_are_what_its_tasks_ask_for():
    with pytest.raises(BadRequest, match="there is no option gpu=; use gpus= instead"):
        Client(launcher="local", gpu=1)  # before any daemon is started


@pytest.mark.parametrize("value", ["a100,v100", ["a100", "v100"], ("a100", "v100"), "a100, v100"])
def test_gpu_types_are_in_order_of_preference(value):
    assert Options().changed(gpu_type=value) == resources(gpus=1, gpu_type="a100,v100")


@pytest.mark.parametrize(("value", "mib"), [(">=20GB", 20480), ("20GB", 20480), (">= 20 GB", 20480), (20 * 2**30, 20480)])
def test_gpu_memory_is_a_lower_bound_of_one_gpu(value, mib):
    assert Options().changed(gpu_memory=value) == resources(gpus=1, gpu_memory_mib=mib)


@pytest.mark.parametrize(("value", "cuda"), [(">=12", 12000), ("12.4", 12040), (12, 12000), (12.4, 12040), (">= 11.8", 11080)])
def test_cuda_is_counted_as_cuda_does(value, cuda):
    assert Options().changed(cuda=value) == resources(gpus=1, cuda=cuda)


def test_what_is_said_of_the_gpu_leaves_their_number():
    assert Options().changed(gpus=2, gpu_type="a100").resources.gpus == 2
    assert Options().changed(gpus=2).changed(gpu_memory="20GB").resources.gpus == 2
    assert Options().changed(gpu_memory="20GB").changed(gpus="a100") == resources(gpus=1, gpu_type="a100")
    assert Options().changed(gpu_memory="20GB", cuda=12).changed(gpus=0) == Options()
    assert Options().changed(gpu_type="v100", gpus="a100:2") == resources(gpus=2, gpu_type="v100")


def test_the_expression_of_another_system():  # CUDA > 12.0, memory of the GPU >= 32 GB, machine != SERVER
    options = Options().changed(cuda=">=12", gpu_memory=">=32GB", not_nodes="SERVER")

    assert options == resources(gpus=1, cuda=12000, gpu_memory_mib=32768, not_nodes="SERVER")


def test_nodes_to_leave_out():
    assert Options().changed(not_nodes=["g1", "g[3-5]"]).resources.not_nodes == "g1,g[3-5]"


def test_leases_apart_or_together_but_not_both():
    spread, packed = Options().changed(spread=True), Options().changed(pack=True, spread=False)
    assert (spread.resources.placement, packed.resources.placement) == ("spread", "pack")
    assert Options().changed(spread=True, pack=False).resources.placement == "spread"
    assert Options().changed(pack=True).changed(spread=False).resources.placement == "pack"
    assert Options().changed(pack=True).changed(pack=False).resources.placement == "any"
    with pytest.raises(BadRequest, match="contradict"):
        Options().changed(spread=True, pack=True)


@pytest.mark.parametrize("of_gpus", [dict(gpu_type="a100"), dict(gpu_memory="20GB"), dict(cuda="12")])
def test_no_gpu_of_some_kind_is_refused(of_gpus):
    with pytest.raises(BadRequest, match="gpus=0 and gpu_.*= contradict|gpus=0 and cuda= contradict"):
        Options().changed(gpus=0, **of_gpus)


def test_nodes_have_a_worker_each_unless_more_were_asked_for():
    assert Options().changed(nodes=1) == Options()
    assert Options().changed(nodes=2) == resources(nodes=2, workers=2)
    assert Options().changed(workers=4).changed(nodes=2) == resources(nodes=2, workers=4)


def test_what_the_workers_of_a_node_have_together_is_bounded_not_that_of_all():
    assert Options().changed(workers=4, nodes=2, gpus=2048).resources.nodes == 2
    with pytest.raises(BadRequest, match="on one node"):
        Options().changed(workers=4, nodes=1, gpus=2048)


@pytest.mark.parametrize("nice", [0, 100, 2147483645])
def test_a_nice_value_is_slurms_and_only_steps_back(nice):
    assert Options().changed(nice=nice).resources.nice == nice


# Found in an attack: gpus=2**31 with workers=2 ran a job without a GPU, and 2**63 MiB were 1 MB of each CPU to Slurm.
@pytest.mark.parametrize(
    ("most", "more"),
    [
        (dict(gpus=4096), dict(gpus=4097)),
        (dict(gpus="4096"), dict(gpus="2147483648")),
        (dict(gpus="a100:4096"), dict(gpus="a100:4294967296")),
        (dict(workers=256), dict(workers=257)),
        (dict(cpus=65000), dict(cpus=65001)),
        (dict(memory="4096TB"), dict(memory="4097TB")),
        (dict(memory=2**52), dict(memory=2**52 + 1)),
        (dict(memory=2**52), dict(memory=float("inf"))),
        (dict(gpu_memory="4096TB"), dict(gpu_memory=2**83)),
        (dict(time="3650d"), dict(time="3651 days")),
        (dict(time=3650 * 86400), dict(time=float("inf"))),
        (dict(cuda="999.99"), dict(cuda="1000")),
        (dict(nice=2147483645), dict(nice=2147483646)),
    ],
)
def test_no_number_is_too_large_to_travel(most, more):
    Options().changed(**most).resources
    (name,) = more

    with pytest.raises(BadRequest, match=name) as refused:
        Options().changed(**more)
    assert refused.value.remedy


@pytest.mark.parametrize(
    ("each", "words"), [(dict(gpus=16), "gpus"), (dict(cpus=253), "cpus"), (dict(memory="16TB"), "memory")]
)
def test_the_workers_together_have_the_bounds_of_one_node(each, words):
    Options().changed(workers=256, **each)

    with pytest.raises(BadRequest, match=rf"workers=256 and {words}=.* on one node"):
        Options().changed(workers=256, **{name: value + 1 if isinstance(value, int) else "17TB" for name, value in each.items()})


@pytest.mark.parametrize("words", [dict(memory=float("nan")), dict(time=float("nan")), dict(gpus="²"), dict(gpus="9" * 5000)])
def test_what_is_no_number_is_refused_as_such(words):
    with pytest.raises(BadRequest):
        Options().changed(**words)


def test_slurms_own_options_by_their_names():
    options = Options().changed(slurm={"--mail-type": "END", "mail_user": "a@b.c", "nice": 5, "exclusive": True})

    assert options.resources.slurm == {"mail-type": "END", "mail-user": "a@b.c", "nice": "5", "exclusive": "yes"}
    assert hash(options)
