"""Cells that go on without their kernel: their folders, and ``pounce.attach``, which shows one from its beginning."""
