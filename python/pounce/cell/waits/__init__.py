"""A cell that waits for long shows what it could do instead, and who is away from the notebook is told of a cell."""
