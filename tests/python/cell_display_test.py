"""What a remote cell shows beside text, in its order, through a real kernel."""

from __future__ import annotations

import statistics

import pytest

pytest.importorskip("ipykernel")
pytest.importorskip("jupyter_client")

from kernel import notebook_at_home


@pytest.fixture(scope="module")
def notebook():
    with notebook_at_home("%load_ext pounce") as made:
        yield made


def test_prints_and_displays_keep_their_order(notebook):
    cell = notebook.run("%%pounce\nimport os, sys\nfrom IPython.display import HTML\nprint('one')\ndisplay(HTML('<b>two</b>'))\n"
                        "os.system('echo three')\ndisplay(4)\nprint('five', file=sys.stderr)")

    pieces: list = []
    for message in cell.messages:
        content = message["content"]
        if message["msg_type"] == "stream" and pieces and isinstance(pieces[-1], str):
            pieces[-1] += content["text"]
        elif message["msg_type"] in ("stream", "display_data"):
            pieces.append(content.get("text") or content["data"])
    html = {"text/plain": "<IPython.core.display.HTML object>", "text/html": "<b>two</b>"}
    assert pieces == ["one\n", html, "three\n", {"text/plain": "4"}, "five\n"]


def test_what_is_printed_leaves_the_kernel_within_a_tenth_of_a_second(notebook):
    cell = notebook.run("%%pounce\nimport time\nfor _ in range(20):\n    print(time.time(), flush=True)\n    time.sleep(0.15)")

    late = [message["header"]["date"].timestamp() - float(message["content"]["text"].split()[0])
            for message in cell.messages if message["msg_type"] == "stream" and message["content"]["text"][0].isdigit()]
    assert len(late) > 10, "they come one by one, not in the end"
    assert statistics.median(late) < 0.1, late


def test_what_a_c_library_and_a_child_process_print_comes_too(notebook):
    cell = notebook.run("%%pounce\nimport ctypes, subprocess, sys\nprint('python')\nlibc = ctypes.CDLL(None)\n"
                        "libc.puts(b'a library')\nlibc.fflush(None)\nsubprocess.run(['sh', '-c', 'echo a child; echo its error >&2'])\n"
                        "print('python again')")

    assert cell.stdout.splitlines() == ["python", "a library", "a child", "python again"]
    assert cell.stream("stderr") == "its error\n"


def test_a_display_is_updated_in_place(notebook):
    cell = notebook.run("%%pounce\nhandle = display('before', display_id=True)\nhandle.update('after')")

    first, second = cell.of("display_data"), cell.of("update_display_data")
    assert first[0]["transient"]["display_id"] == second[0]["transient"]["display_id"]
    assert second[0]["data"]["text/plain"] == "'after'"


def test_clear_output_is_this_cells(notebook):
    cell = notebook.run("%%pounce\nfrom IPython.display import clear_output\nprint('gone')\nclear_output(wait=True)\nprint('here')")

    assert cell.of("clear_output") == [{"wait": True}]
    cleared = cell.kinds.index("clear_output")
    assert 0 < cleared < len(cell.kinds) - 1 and set(cell.kinds) == {"stream", "clear_output"}


def test_a_result_comes_in_all_its_forms(notebook):
    cell = notebook.run("%%pounce\nclass Rich:\n    def __repr__(self): return 'plain'\n"
                        "    def _repr_html_(self): return '<i>rich</i>'\nRich()")

    (result,) = cell.of("execute_result")
    assert result["data"] == {"text/plain": "plain", "text/html": "<i>rich</i>"}


def test_a_figure_is_shown_without_matplotlib_in_the_kernel(notebook):
    pytest.importorskip("matplotlib")
    cell = notebook.run("%%pounce\nimport matplotlib.pyplot as plt\nplt.plot([1, 2, 3]);")

    (figure,) = cell.of("display_data")
    assert figure["data"]["image/png"].startswith("iVBORw0KGgo")
    assert notebook.run("import sys\n'matplotlib' in sys.modules").value == "False"


def test_carriage_returns_of_a_text_bar_stay(notebook):
    pytest.importorskip("tqdm")
    cell = notebook.run("%%pounce\nfrom tqdm import tqdm\nfor _ in tqdm(range(3), mininterval=0): pass")

    assert "\r" in cell.stream("stderr") and "3/3" in cell.stream("stderr")


def test_an_output_widget_takes_what_is_shown_in_it_and_leaves_the_rest_of_the_cell(notebook):
    """rich draws its bars in one, and clears it with each tick: the cell's own output went with it."""
    pytest.importorskip("ipywidgets")
    cell = notebook.run("%%pounce\nfrom ipywidgets import Output\nprint('kept')\nbox = Output()\nwith box:\n"
                        "    box.clear_output()\n    print('in the box')\nprint('below')")

    taken_by, cleared, text = "", [], {True: "", False: ""}
    for message in cell.messages:
        in_the_box, content = taken_by == message["parent_header"]["msg_id"], message["content"]
        if message["msg_type"] == "comm_msg":
            taken_by = content["data"]["state"].get("msg_id", taken_by)
        elif message["msg_type"] == "clear_output":
            cleared.append(in_the_box)
        elif message["msg_type"] == "stream":
            text[in_the_box] += content["text"]
    assert cleared == [True] and text == {True: "in the box\n", False: "kept\nbelow\n"}


def test_a_notebook_bar_is_a_widget_without_ipywidgets_in_the_kernel(notebook):
    pytest.importorskip("ipywidgets")
    cell = notebook.run("%%pounce\nfrom tqdm.auto import tqdm\nfor _ in tqdm(range(20), mininterval=0): pass")

    opened = [content["data"]["state"]["_model_name"] for content in cell.of("comm_open")]
    (bar,) = cell.of("display_data")
    assert "FloatProgressModel" in opened
    assert "application/vnd.jupyter.widget-view+json" in bar["data"]
    values = [content["data"].get("state", {}).get("value") for content in cell.of("comm_msg")]
    assert 20.0 in values
    assert notebook.run("import sys\n'ipywidgets' in sys.modules").value == "False"


def test_displays_work_under_capture_as_at_home(notebook):
    cell = notebook.run("%%capture kept\n%%pounce\nprint('text')\ndisplay(1)")

    assert cell.kinds == []
    assert notebook.run("kept.stdout.splitlines()[-1], len(kept.outputs)").value == "('text', 1)"


def test_a_flood_of_prints_comes_whole_and_in_few_messages(notebook):
    cell = notebook.run("%%pounce\nfor i in range(100_000): print(i)")

    assert cell.stdout.split() == [str(i) for i in range(100_000)]
    assert len(cell.of("stream")) < 2000


def test_an_output_that_is_too_large_is_said_and_not_sent(notebook):
    cell = notebook.run("%%pounce\nfrom IPython.display import HTML\ndisplay(HTML('x' * (40 << 20)))\nprint('on')")

    assert "an output of 40 MiB is not shown" in cell.stdout and cell.stdout.endswith("on\n")


def test_what_programs_report_is_one_line_below_the_cell_and_a_picture_at_one_place(notebook):
    (notebook.home.folder / "curve.png").write_bytes(b"\x89PNG\r\n\x1a\n picture")

    number = notebook.start("%%pounce\nimport os, subprocess, time\nopen('waits', 'w').close()\nsubprocess.run('pounce-report loss=0.5 --status first; "
                            "pounce-report --file curve.png; pounce-report --file curve.png', shell=True)\n"
                            "while os.path.exists('waits'): time.sleep(0.02)")
    before = notebook.ended(number, until=line_of)
    (notebook.home.folder / "waits").unlink()
    notebook.ended(number)

    (picture,) = [each for each in before.of("display_data") if "image/png" in each["data"]]
    (again,) = [each for each in before.of("update_display_data") if "image/png" in each["data"]]
    assert again["transient"] == picture["transient"] and picture["data"]["text/plain"] == "<curve.png>"
    assert line_of(before) == "pounce: first; loss=0.5\n"


def line_of(shown) -> str:
    lines = [each["data"].get("text/plain", "") for each in shown.of("display_data") if "text/plain" in each["data"]]
    return next((line for line in lines if line.startswith("pounce: first")), "")
