"""``python -m pounce._worker``, as the supervisor starts it."""

import sys

if not getattr(sys.flags, "safe_path", False):  # Python 3.10 puts the notebook's folder in front for `-m`
    del sys.path[0]

from pounce._worker.interpreter import main

_ours = sys.modules["__main__"]  # kept alive, since its names are used until the end; user code gets another module
main()
