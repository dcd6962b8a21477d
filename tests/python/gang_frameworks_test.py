"""Trainings as their libraries' own pages write them, as the ranks of a gang; each twice, in the same processes."""

from __future__ import annotations

import os

import pytest

# Each imports for ten seconds. What a framework reads of a rank is the same as what FSDP and accelerate read.
only_in_long_runs = pytest.mark.skipif(not os.environ.get("POUNCE_LONG_RUN"), reason="ten seconds of a processor; FSDP and accelerate train as ranks")

FSDP = """
    def trains(alone=False):
        import torch, torch.distributed as dist
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard
        rank, world = (0, 1) if alone else (int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        if not alone:
            dist.init_process_group("gloo")
            fully_shard(model, mesh=init_device_mesh("cpu", (world,)))
        x = torch.arange(64.0).reshape(16, 4) / 64
        descent = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(10):
            descent.zero_grad()
            mine = x[rank::world]
            torch.nn.functional.mse_loss(model(mine), mine.sum(1, keepdim=True)).backward()
            descent.step()
        with torch.no_grad():
            return round(torch.nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).item(), 5)
"""

LIGHTNING = """
    def trains():
        import lightning, torch
        class Line(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.line = torch.nn.Linear(4, 1)
            def training_step(self, batch, _):
                return self.line(batch[0]).pow(2).mean()
            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=0.1)
        trainer = lightning.Trainer(accelerator="cpu", devices=2, strategy="ddp", max_epochs=1, logger=False, enable_checkpointing=False,
                                    enable_progress_bar=False, enable_model_summary=False)
        batches = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(16, 4)), batch_size=4)
        trainer.fit(Line(), batches)
        return [trainer.global_rank, trainer.world_size, trainer.global_step]
"""

TRAINER = """
    def trains():
        import tempfile, torch, transformers
        class Line(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.line = torch.nn.Linear(4, 1)
            def forward(self, x, labels):
                guess = self.line(x)
                return {"loss": (guess - labels).pow(2).mean(), "logits": guess}
        asked = transformers.TrainingArguments(tempfile.mkdtemp(), use_cpu=True, ddp_backend="gloo", per_device_train_batch_size=4,
                                               num_train_epochs=1, report_to=[], disable_tqdm=True, save_strategy="no")
        trainer = transformers.Trainer(Line(), asked, train_dataset=[{"x": torch.ones(4), "labels": torch.ones(1)}] * 16)
        trainer.train()
        return [asked.process_index, asked.world_size, trainer.state.global_step]
"""

ACCELERATE = """
    def trains():
        import accelerate, torch
        accelerator = accelerate.Accelerator(cpu=True)
        model = torch.nn.Linear(4, 1)
        descent = torch.optim.SGD(model.parameters(), lr=0.1)
        model, descent, batches = accelerator.prepare(model, descent, torch.utils.data.DataLoader(torch.ones(16, 4), batch_size=4))
        steps = 0
        for batch in batches:
            descent.zero_grad()
            accelerator.backward(model(batch).pow(2).mean())
            descent.step()
            steps += 1
        return [accelerator.process_index, accelerator.num_processes, steps]
"""

TWICE = """
    with pounce.Client() as client, client.gang(workers=2) as gang:
        report(ends=[gang.run(trains) for _ in range(2)])
"""

_EACH = [[0, 2, 2], [1, 2, 2]]  # rank, ranks, steps: four batches are two for each


def test_fsdp_on_cpus_is_the_training_of_one_process(home):
    run = home.run(FSDP + TWICE + "        report(alone=trains(alone=True))\n", seconds=120)
    first, second = run.reports["ends"]
    assert first == second == [run.reports["alone"]] * 2


@only_in_long_runs
def test_lightning_trains_with_its_ddp_strategy(home):
    assert home.run(LIGHTNING + TWICE, seconds=120).reports["ends"] == [_EACH] * 2


@only_in_long_runs
def test_trainer_of_hugging_face_trains_on_all_ranks(home):
    assert home.run(TRAINER + TWICE, seconds=120).reports["ends"] == [_EACH] * 2


def test_accelerate_finds_its_ranks_in_each_run(home):
    assert home.run(ACCELERATE + TWICE, seconds=120).reports["ends"] == [_EACH] * 2
