"""What the kernel and the worker's interpreter share: how values, functions and modules travel and are kept."""
