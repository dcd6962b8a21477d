"""What both processes need, the kernel and the worker's interpreter: how values, functions and modules travel and are kept."""
