"""Sweeps: what a search tries next, and how its members are told."""
