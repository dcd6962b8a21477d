"""The cell's side of a worker: a request in, what the cell did out."""
