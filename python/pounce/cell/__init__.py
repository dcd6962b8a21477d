"""The cell: ``%%pounce`` runs a notebook cell on a worker as if it ran here.

The kernel's side: ``magic`` (the way in), ``stop``, ``options_line``, ``names`` and ``ledger`` (what to send), ``show`` and
``background`` (what comes back), ``completion`` (the tab key).
The worker's side: ``runner``, ``shell``, ``publish``, ``packages``. Both: ``bundle``.
Only ``magic``, ``shell`` and ``publish`` need IPython.
"""
