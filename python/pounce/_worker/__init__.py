"""What runs in the worker's process alone. The kernel sends calls of it by name, and runs none of it."""
