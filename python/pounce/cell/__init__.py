"""The cell: ``%%pounce`` runs a notebook cell on a worker as if it ran here. This is the kernel's side of it.

``magic`` (the way in), ``stop``, ``options_line``, ``names`` and ``ledger`` (what to send), ``background`` and ``traceback`` (what
comes back), ``completion`` (the tab key). The worker's side is ``_worker/cell``; how variables travel, ``_common/bundle``.
"""
