"""Tables stand in columns on a terminal, whatever the script."""

from __future__ import annotations

import pytest
from pounce._tables.text_table import as_html, as_text, display_width


@pytest.mark.parametrize(("text", "width"), [("", 0), ("plain", 5), ("äöü", 3), ("a\u0308o\u0308u\u0308", 3), ("実験 1", 6)])
def test_a_width_counts_columns_of_the_terminal(text, width):
    assert display_width(text) == width


def test_columns_stand_under_each_other():
    assert as_text([("name", "state"), ("Zoë", "a"), ("e\u0301te\u0301", "b"), ("実験", "c")]).splitlines() == [
        "name  state", "Zoë   a", "e\u0301te\u0301   b", "実験  c"]


# A job's name, of whoever runs it, cleared the terminal of who looked at the queue.
@pytest.mark.parametrize("name", ["\x1b[2J", "a\nfake row", "\u202egnp", "\x9b2J", "\x07"])
def test_what_strangers_wrote_acts_on_no_terminal(name):
    for shown in (as_text([("name",), (name,)]), as_html([("name",), (name,)])):
        assert name not in shown
        assert len(shown.splitlines()) <= 2
        assert shown.isprintable() or shown.replace("\n", "").isprintable()
