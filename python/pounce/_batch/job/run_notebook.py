"""Executes input.ipynb of a batch run's folder, cell after cell, and saves it after each as executed.ipynb.

It uses nbclient, as `jupyter nbconvert --execute` does. If that is not installed it uses IPython alone, and the outputs
are text. Exit code: 0; 1: a cell failed; or what a cell gave to sys.exit().
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
import tempfile
from typing import Any


def main(folder: str) -> int:
    try:
        import ipykernel  # noqa: F401
        import nbclient  # noqa: F401
        import nbformat
    except ImportError as missing:
        return with_ipython(folder, missing)
    notebook = nbformat.read(os.path.join(folder, "input.ipynb"), as_version=4)
    return with_nbclient(folder, notebook)


def with_nbclient(folder: str, notebook: Any) -> int:
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, DeadKernelError
    from traitlets.config import Config

    class Client(NotebookClient):
        async def async_execute_cell(self, cell: Any, cell_index: int, *rest: Any, **options: Any) -> Any:
            try:
                return await super().async_execute_cell(cell, cell_index, *rest, **options)
            finally:
                save(folder, nbformat.writes(self.nb))

        def output(self, outs: Any, message: Any, display_id: Any, cell_index: int) -> Any:
            if message["msg_type"] == "stream":
                print(message["content"]["text"], end="", flush=True)
            return super().output(outs, message, display_id, cell_index)

    with tempfile.TemporaryDirectory(prefix="kernel-") as private:
        # The kernel is this Python, whatever others are registered. Its sockets lie where no other user can listen.
        write_kernel(private)
        os.environ["JUPYTER_PATH"] = os.pathsep.join(filter(None, [private, os.environ.get("JUPYTER_PATH")]))
        config = Config({"KernelManager": {"transport": "ipc", "ip": f"{private}/k"}})
        client = Client(notebook, kernel_name="pounce-batch", timeout=None, config=config,
                        resources={"metadata": {"path": os.getcwd()}})
        try:
            client.execute()
        except CellExecutionError as error:
            if error.ename == "SystemExit":
                return exit_code(error.evalue)
            print(error.traceback or error, file=sys.stderr)
            return 1
        except DeadKernelError:
            print("the notebook's Python died: of memory, or of a fault in a library", file=sys.stderr)
            return 1
        finally:
            save(folder, nbformat.writes(client.nb))
    return 0


def write_kernel(folder: str) -> None:
    os.makedirs(os.path.join(folder, "kernels", "pounce-batch"))
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    with open(os.path.join(folder, "kernels", "pounce-batch", "kernel.json"), "w", encoding="utf-8") as file:
        json.dump({"argv": argv, "display_name": "Python 3", "language": "python"}, file)


def exit_code(said: str) -> int:
    """Python's exit code for sys.exit(said)."""
    if said in ("", "None"):
        return 0
    if re.fullmatch(r"-?\d+", said):
        return int(said) & 0xFF
    print(said, file=sys.stderr)
    return 1


def with_ipython(folder: str, missing: ImportError) -> int:
    try:
        from IPython.core.interactiveshell import InteractiveShell
    except ImportError:
        print(f"this environment cannot execute a notebook ({missing}) and has no IPython: "
              "pip install nbclient ipykernel", file=sys.stderr)
        return 1
    sys.path.insert(0, os.getcwd())  # where the notebook finds its own modules; a kernel has it by itself
    print(f"pounce: {missing}: the cells run with IPython alone, and only what they print is saved", file=sys.stderr)
    with open(os.path.join(folder, "input.ipynb"), encoding="utf-8") as file:
        notebook = json.load(file)
    shell = InteractiveShell.instance()
    code = 0
    for number, cell in enumerate(filter(is_code, notebook["cells"]), 1):
        result, printed = run(shell, source_of(cell))
        outputs = [{"output_type": "stream", "name": "stdout", "text": printed}] if printed else []
        cell.update(execution_count=number, outputs=outputs)
        save(folder, json.dumps(notebook, indent=1))
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            code = exit_code(str(error.code)) if isinstance(error, SystemExit) else 1
            break
    return code


def is_code(cell: Any) -> bool:
    return cell["cell_type"] == "code" and bool(source_of(cell).strip())


def source_of(cell: Any) -> str:
    return "".join(cell["source"])


class Both(io.StringIO):
    """Output goes to the log at once, and is kept."""

    def write(self, text: str) -> int:
        sys.__stdout__.write(text)  # type: ignore[union-attr]
        return super().write(text)


def run(shell: Any, source: str) -> tuple[Any, str]:
    printed = Both()
    with contextlib.redirect_stdout(printed):
        result = shell.run_cell(source, store_history=True)
    sys.stdout.flush()
    return result, printed.getvalue()


def save(folder: str, text: str) -> None:
    """Replaces the file as a whole: the user may be reading it."""
    path = os.path.join(folder, "executed.ipynb")
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(f"{path}.new", path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
