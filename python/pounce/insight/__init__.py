"""What the GPUs of a site did: Slurm's accounting read, kept in a store, and summed (docs/insight.md).

``jobs`` is one run of a job, ``spans`` local days and hours, ``tally`` the sums of what jobs held in them.
``accounting`` reads jobs from Slurm, ``collector`` puts them into the ``store``, ``answer`` sums a span from store and
Slurm together. ``command`` is ``pouncectl usage``. All times are whole seconds and all sums whole numbers, so that
sums over parts are exact.
"""
