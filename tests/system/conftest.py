"""Workers for the tests of the worker: one for a whole file, or one for each test."""

from __future__ import annotations

import pytest
from fake_daemon import FakeClient
from worker_world import SLURM, World


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    world = World(tmp_path_factory.mktemp("shared"), **SLURM)
    yield world
    world.close()


@pytest.fixture
def client(shared) -> FakeClient:
    return shared.client


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path)
    yield world
    world.close()
