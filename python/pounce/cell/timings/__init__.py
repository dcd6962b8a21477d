"""Where the time of a cell went, until its first output and its first loss: `records` measures, `table` shows it."""
