"""The pieces of tests/slurm are used here too."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "slurm"))
