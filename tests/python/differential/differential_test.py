"""A cell with `%%pounce` shows what it shows without: the same short notebooks in a plain kernel and on workers."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from journeys import FOLDER, read, subjects

pytest.importorskip("ipykernel")
pytest.importorskip("jupyter_client")

from pair import pair

PAGES = [FOLDER.parents[2] / "docs" / name for name in ("cell.md", "state.md")]


@functools.cache
def seen(subject: str, mode: str) -> dict[str, Any]:
    """Of all journeys about the subject: they share two kernels."""
    with pair() as both:
        return getattr(both, mode)(read(subject))


@pytest.mark.parametrize(("subject", "mode", "journey"), [
    pytest.param(subject, mode, journey, id=f"{subject}: {journey.name} ({mode})", marks=pytest.mark.xdist_group(f"{subject}_{mode}"))
    for mode in ("warm", "released") for subject in subjects() for journey in read(subject)])
def test_a_worker_shows_what_a_plain_kernel_shows(subject, mode, journey):
    cells = seen(subject, mode)[journey.name]

    if journey.differs_warm or (journey.differs and mode == "released"):
        assert any(journey.differs in page.read_text() for page in PAGES), "a page says so by name"
        assert any(here != there for here, there in cells), "it does not differ any more"
        return
    for here, there in cells:
        assert there == here


@pytest.mark.parametrize("subject", subjects())
def test_journeys_about_a_subject_have_names_of_their_own(subject):
    names = [journey.name for journey in read(subject)]
    assert len(names) == len(set(names))
