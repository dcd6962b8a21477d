"""%pounce timings: where the time of cells went, until their first output and the first number that looks like a loss."""

from __future__ import annotations

import json

import pytest
from pounce._engine.progress.first_output import FirstOutput
from pounce.cell.timings.records import CellTimings
from pounce.cell.timings.table import TimingsTable, table_of
from pounce.errors import BadRequest

# Cell 1 has waited for its worker and imported, cell 2 has not.
COLD = CellTimings(1, 0.0, True, queue=2.0, start=1.0, imports=4.0, data=1.0, compile=0.0, total=16.0, first_output=6.0,
                   first_loss=12.0, loss="loss: 2.3")
WARM = CellTimings(2, 0.0, False, queue=0.0, start=0.0, imports=0.0, data=0.5, compile=1.0, total=4.0, first_output=2.0,
                   first_loss=None, loss="")


@pytest.mark.parametrize(("text", "words"), [
    ("epoch 1 loss: 2.31\n", "loss: 2.31"), ("step=3 train_loss=1e-3,", "loss=1e-3"), ("{'loss': 0.5, 'lr': 1}", "loss': 0.5"),
    ("Epoch 0 | val/loss 0.25 |", "loss 0.25"), ("loss_G = tensor(0.5)", "loss_G = tensor(0.5"), ("Loss is nan", "Loss is nan"),
    ("perplexity of 31.5", "perplexity of 31.5"), (" 10%|█ | 1/10 [00:01, 9.0it/s, loss=.5]", "loss=.5"), ("NLL -3", "NLL -3"),
    ("\x1b[1mloss\x1b[0m: \x1b[36m0.5\x1b[0m", "loss: 0.5"), ("cross-entropy: inf", "cross-entropy: inf"),
    ("lossless 3", ""), ("glossy: 3", ""), ("losses: 3", ""), ("loss function: mse", ""), ("the loss\n3", ""), ("packet loss: 3%", ""),
    ("loss: 3rd", ""), ("accuracy: 0.5", ""), ("loss:", ""),
])
def test_what_looks_like_a_loss(text, words):
    first = FirstOutput()
    first.printed(text.encode())

    assert first.words == words and bool(first.loss) is bool(words) and first.output


def test_a_loss_may_come_in_pieces_in_a_display_in_a_bar_or_in_a_report():
    pieces, shown, bar, report, silent = (FirstOutput() for _ in range(5))
    for piece in ("epoch 1\rlo", "ss: ", "0.5"):
        pieces.printed(piece.encode())
    shown.message({"type": "display_data", "content": {"data": {"text/plain": "loss 3.5"}}})
    bar.message({"type": "comm_msg", "content": {"data": {"state": {"value": "1/9 [00:01, loss=3.5]"}}}})
    report.reported({"step": 1, "val_loss": 3.5})
    silent.message({"type": "clear_output", "content": {"wait": True}})

    assert [one.words for one in (pieces, shown, bar, report)] == ["loss: 0.5", "loss 3.5", "loss=3.5", "val_loss=3.5"]
    assert not silent.output


def test_a_bar_has_each_part_once_and_is_as_long_as_the_cell():
    assert COLD.parts() == {"queue": 2, "start": 1, "import": 4, "data": 1, "compile": 0, "first output": 0, "first loss": 4, "rest": 4}
    assert WARM.parts() == {"queue": 0, "start": 0, "import": 0, "data": .5, "compile": 1, "first output": .5, "first loss": 0, "rest": 2}
    assert repr(TimingsTable([COLD, WARM])) == """\
             queue   start  import    data compile  output    loss   total
   1 cold      2.0     1.0     4.0     1.0       -     6.0    12.0    16.0  loss: 2.3
          qqqqqqqqssssiiiiiiiiiiiiiiiiddddllllllllllllllll----------------
   2 warm        -       -       -   0.500     1.0     2.0       -     4.0
          ddccccoo--------
q queue, s start, i import, d data, c compile, - rest, o to the first output, l from there to the first loss
cold: first output after 6.0 s (median of 1)
warm: first output after 2.0 s (median of 1)"""


def test_a_cell_of_several_ranks_says_whose_times_they_are():
    gang = CellTimings(**{**vars_of(COLD), "ranks": 4})
    assert "    16.0  loss: 2.3  rank 0 of 4\n" in repr(TimingsTable([gang]))
    assert "total 16.0 s, rank 0 of 4" in TimingsTable([gang])._repr_html_() and "rank 0" not in repr(TimingsTable([COLD]))


def test_the_page_of_it_has_no_script_of_the_cells_own_output():
    page = TimingsTable([COLD, CellTimings(**{**vars_of(WARM), "loss": "loss<script>1", "first_loss": 3.0})] * 6)._repr_html_()

    assert "loss&lt;script&gt;1" in page and "<script" not in page and page.count("<tr>") == 10


def test_words_that_it_does_not_take_are_named():
    assert json.loads(table_of(["--json"], [COLD]))[0]["first_loss"] == 12.0
    for words in (["--jsn"], ["--json", "--json"], ["all", "--json"]):
        with pytest.raises(BadRequest, match="takes --json or nothing, not"):
            table_of(words, [COLD])


def vars_of(record):
    return {name: getattr(record, name) for name in CellTimings.__dataclass_fields__}


def test_cells_tell_their_parts_cold_and_warm_and_calls_too():
    pytest.importorskip("ipykernel")
    from kernel import notebook_at_home

    with notebook_at_home("import pounce") as notebook:
        assert not notebook.run("%pounce timings").of("error")
        first = notebook.run("%%pounce --cpus 1\nimport unittest.mock, wave\nprint('began')\nfor n in range(3): print('loss:', n / 2)")
        assert first.stdout.startswith("began")
        notebook.run("%%pounce --cpus 1\n1 / 0")
        notebook.run("%%pounce --cpus 1 --bg --name job\nprint('nll 3.5')")
        notebook.run("job.result(60)")
        shown = notebook.run("%pounce timings")
        told = json.loads(notebook.run("%pounce timings --json").stdout)
        same = notebook.run("[record.cell for record in pounce.timings()]").value
        call = notebook.run("future = pounce.Client().submit(print, 'loss', 3)\nfuture.result()\nfuture.timings()").value
        wrong = notebook.run("%pounce timings --html").stream("stderr")

    cold, failed, behind = told
    assert [record["cold"] for record in told] == [True, False, False] and same == str([record["cell"] for record in told])
    assert 0 < cold["first_output"] <= cold["first_loss"] < cold["total"] and cold["loss"] == "loss: 0.0"
    assert cold["imports"] > 0 and cold["start"] > 0
    assert failed["first_loss"] is None and failed["total"] > 0 and behind["loss"] == "nll 3.5"
    (table,) = shown.of("display_data")
    assert "cold" in table["data"]["text/plain"] and "first loss" in table["data"]["text/html"]
    assert "'first_output'" in call and "'first_loss'" in call
    assert "takes --json or nothing, not --html" in wrong
