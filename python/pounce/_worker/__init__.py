"""Code that runs only in the worker's process. The kernel sends calls of it by name, and runs none of it."""
