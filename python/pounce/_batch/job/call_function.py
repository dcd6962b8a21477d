"""Calls the function that was saved beside the script, and saves what it returns. Needs only the same Python."""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import traceback
from typing import Any


def main(folder: str) -> int:
    sys.path.append(os.path.join(folder, "lib"))  # the cloudpickle that wrote the call, after installed packages
    with contextlib.suppress(ImportError):
        # It comes with its imports before the files beside the notebook can take those names.
        import cloudpickle  # noqa: F401
    sys.path.insert(0, os.getcwd())  # where the notebook finds its own modules; until now this file's folder is first
    with open(os.path.join(folder, "call.pickle"), "rb") as file:
        function, args, kwargs = pickle.load(file)
    try:
        value = function(*args, **kwargs)
    except Exception as error:
        traceback.print_exc()
        keep(folder, {"error": "".join(traceback.format_exception_only(type(error), error)).strip()})
        return 1
    keep(folder, {"value": value})
    return 0


def keep(folder: str, result: dict[str, Any]) -> None:
    """Writes the whole result, or nothing."""
    import cloudpickle

    path = os.path.join(folder, "result.pickle")
    with open(os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        cloudpickle.dump(result, file, protocol=5)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{path}.new", path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
