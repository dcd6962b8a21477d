"""What the notebook shows of variables on workers before a cell runs: the tab key, shift and tab, %who and %whos."""
