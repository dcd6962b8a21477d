"""Batch runs: a notebook, a cell or a function as a job script of Slurm's that needs no pounce where it runs."""
