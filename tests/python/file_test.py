"""Files as arguments: opened where the worker sees them, sent where it does not, and told of where they have changed."""

from __future__ import annotations

import json
import textwrap

PROGRAM = """
import numpy as np
def look(array):
    base = array
    while getattr(base, "base", None) is not None:
        base = base.base
    return type(getattr(base, "obj", base)).__name__ == "Mapping", float(np.sum(array)), bool(array.flags.writeable)
def blind():
    "From now on this worker sees no file that is named to it."
    from pounce._common import file_buffers
    def opened(path, flags=0):
        raise FileNotFoundError(2, "No such file or directory")
    file_buffers.opened = opened
def text(file):
    with file.open("r") as inside:
        return [file.path, inside.read(), open(file).read()]
def until_there(path):
    while not os.path.exists(path):
        time.sleep(0.01)
np.save("numbers.npy", np.ones(300_000))
def mapped(mode="r"): return np.load("numbers.npy", mmap_mode=mode)
"""


def program(text):
    return PROGRAM + textwrap.dedent(text)


def test_mapped_arrays_are_mapped_there_again_wherever_they_stand(home):
    run = home.run(program("""
        with pounce.Client() as client:
            array = mapped()
            report(argument=client.submit(look, array).result(), slice=client.submit(look, array[1000:]).result())
            report(inside=client.submit(lambda d: look(d["x"][0]), {"x": [array]}).result())
            report(captured=client.submit(lambda: look(array)).result(), scattered=client.submit(look, client.scatter(array)).result())
            report(mapped=[list(each) for each in client.map(look, [array, array[::2]])])
            report(private=client.submit(look, mapped("c")).result())
    """))

    assert run.reports == {
        "argument": [True, 300_000.0, False], "slice": [True, 299_000.0, False], "inside": [True, 300_000.0, False],
        "captured": [True, 300_000.0, False], "scattered": [True, 300_000.0, False],
        "mapped": [[True, 300_000.0, False], [True, 150_000.0, False]], "private": [True, 300_000.0, True],
    }


def test_tasks_fill_a_file_together_and_the_notebook_sees_it_with_their_results(home):
    run = home.run(program("""
        out = np.memmap("out", dtype="f8", mode="w+", shape=(8,))
        def fill(out, i): out[i] = i * i
        with pounce.Client(workers=2) as client:
            client.gather([client.submit(fill, out, i) for i in range(8)])
            report(here=list(out), on_disk=list(np.fromfile("out")))
    """))

    squares = [float(i * i) for i in range(8)]
    assert run.reports == {"here": squares, "on_disk": squares}


def test_a_worker_that_does_not_see_the_file_gets_its_content_unseen_by_the_caller(home):
    run = home.run(program("""
        with pounce.Client() as client:
            ref = client.scatter(mapped())
            client.submit(blind).result()
            report(argument=client.submit(look, mapped()).result(), scattered=client.submit(look, ref).result())
            report(again=client.submit(look, ref).result(), shared=client.submit(look, mapped("r+")).result())
            kept = list(range(3))
            future = client.submit(lambda array, kept: (look(array)[0], kept), mapped(), kept)
            kept.append(3)
            report(as_submitted=future.result(), ran=client.submit(pow, 2, 3).result())
    """))

    assert run.reports == {
        "argument": [False, 300_000.0, False], "scattered": [False, 300_000.0, False], "again": [False, 300_000.0, False],
        "shared": [False, 300_000.0, True], "as_submitted": [False, [0, 1, 2]], "ran": 8,
    }
    assert "file" not in run.stderr and "numbers" not in run.stderr


CHANGED = """
            with open("numbers.npy", "r+b") as file:
                file.seek(1000)
                file.write(b"other")
            report(error=error_of(client.submit(look, ref).result), after=client.submit(pow, 2, 3).result())
            report(as_it_is_now=client.submit(look, mapped()).result()[0])
"""


def test_a_file_that_changed_is_told_and_not_read(home):
    run = home.run(program("""
        with pounce.Client() as client:
            ref = client.scatter(mapped())
    """ + CHANGED))

    error = run.reports["error"]
    assert error["type"] == "FileChanged" and error["context"]["path"] == str(home.folder / "numbers.npy")
    assert "is not what it was when it was passed on; nothing of it was read" in error["text"] and run.reports["after"] == 8
    assert run.reports["as_it_is_now"] is True


def test_a_file_that_changed_before_its_content_was_needed_is_told_as_well(home):
    run = home.run(program("""
        with pounce.Client() as client:
            ref = client.scatter(mapped())
            client.submit(blind).result()
    """ + CHANGED))

    assert run.reports["error"]["type"] == "FileChanged" and run.reports["after"] == 8


def test_scattering_a_large_file_reads_none_of_it(home):
    run = home.run(program("""
        with open("sparse", "wb") as file:
            file.truncate(64 << 30)
        def touched():
            import resource
            return sum(getattr(resource.getrusage(resource.RUSAGE_SELF), name) for name in ("ru_minflt", "ru_majflt"))
        with pounce.Client() as client:
            before = touched()
            ref = client.scatter(np.memmap("sparse", mode="r"))
            report(nbytes=ref.nbytes, end=client.submit(lambda array: int(array[-1]) + len(array), ref).result())
            report(pages=touched() - before)
    """))

    assert run.reports["end"] == 64 << 30 and run.reports["nbytes"] >= 64 << 30
    assert run.reports["pages"] < 10_000


# ---- pounce.File ----

def test_a_file_is_the_same_file_there_or_a_copy_of_it(home):
    run = home.run(program("""
        for name, content in dict(a="hello", empty="").items():
            with open(name + ".txt", "w") as file: file.write(content)
        file, empty = pounce.File("a.txt"), pounce.File("empty.txt")
        with pounce.Client() as client:
            report(seen=client.submit(text, file).result(), captured=client.submit(lambda: text(file)).result())
            report(inside=client.submit(lambda files: [text(each) for each in files], [file, file]).result())
            report(scattered=client.submit(text, client.scatter(file)).result(), empty=client.submit(text, empty).result()[1:])
            client.submit(blind).result()
            report(copy=client.submit(text, file).result())
            path = client.submit(text, file).result()[0]
            report(gone=client.submit(os.path.exists, path).result())
    """))

    reports, path = run.reports, str(home.folder / "a.txt")
    assert reports["seen"] == reports["captured"] == reports["scattered"] == [path, "hello", "hello"]
    assert reports["inside"] == [[path, "hello", "hello"]] * 2 and reports["empty"] == ["", ""]
    copy = reports["copy"][0]
    assert copy != path and copy.endswith("/a.txt") and reports["copy"][1:] == ["hello", "hello"]
    assert reports["gone"] is False


def test_a_file_that_changed_between_call_and_use_is_told(home):
    run = home.run(program("""
        with open("a.txt", "w") as out: out.write("hello")
        file = pounce.File("a.txt")
        with pounce.Client() as client:
            before, future = client.submit(until_there, "changed"), client.submit(text, file)
            with open("a.txt", "w") as out: out.write("something else")
            open("changed", "w").close()
            report(error=error_of(future.result))
    """))

    assert run.reports["error"]["type"] == "FileChanged" and "a.txt" in run.reports["error"]["text"]


def test_a_task_with_a_name_takes_a_file_by_its_path(home):
    run = home.run(program("""
        with open("a.txt", "w") as out: out.write("hello")
        with pounce.Client() as client:
            file = pounce.File("a.txt")
            report(read=client.options(name="reads").submit(text, file).result())
            report(back=client.submit(lambda: pounce.File(os.path.abspath("a.txt"))).result().open("r").read())
    """))

    assert run.reports["read"] == [str(home.folder / "a.txt"), "hello", "hello"] and run.reports["back"] == "hello"


def test_a_file_that_is_not_there_is_told_at_once(home):
    run = home.run("""
        report(missing=error_of(lambda: pounce.File("nowhere")), folder=error_of(lambda: pounce.File(".")))
    """)

    assert {name: error["type"] for name, error in run.reports.items()} == {"missing": "BadRequest", "folder": "BadRequest"}
    assert json.dumps(run.reports["folder"]).count("is a folder") == 1
