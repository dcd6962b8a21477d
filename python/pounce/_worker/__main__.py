"""``python -m pounce._worker``, as the supervisor starts it."""

import sys

from pounce._worker.interpreter import main

_ours = sys.modules["__main__"]  # kept alive, since user code gets another: its names are used until the process ends
main()
