"""Workers for the tests of the worker: one for a whole file, or one for each test. Homes, and clients of their daemons."""

from __future__ import annotations

import pytest
from daemon_world import ControlChannel, Home
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
def world(request, tmp_path):
    world = World(tmp_path, **getattr(request, "param", {}))
    yield world
    world.close()


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path)
    yield home
    home.close()


@pytest.fixture
def make_home(tmp_path_factory):
    homes = []

    def make(**config):
        homes.append(Home(tmp_path_factory.mktemp("home"), **config))
        return homes[-1]

    yield make
    for home in homes:
        home.close()


@pytest.fixture
def enter():
    controls = []

    def enter(endpoint, *arguments, **more):
        controls.append(ControlChannel(endpoint, *arguments, **more))
        return controls[-1]

    yield enter
    for control in controls:
        control.close()


@pytest.fixture
def session(home, enter):
    """A client that waits for a GPU, and what it was granted."""
    client = enter(home.ensure())
    client.open_session(home.folder)
    client.demand(waiting=1, gpus=1)
    client.granted = client.wait_for("granted")
    return client
