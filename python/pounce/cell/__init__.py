"""The cell: ``%%pounce`` runs a notebook cell on a worker as if it ran here. This is the kernel's side of it.

``magic`` (the way in), ``stop``, ``options_line``, ``names`` and ``ledger`` (what to send), ``remote`` (the exchange), ``workers`` and
``successors`` (with whom), ``hold``, ``holding`` and ``held_cells`` (a worker that stays), ``loop`` (a cell that moves), ``background``
and ``traceback`` (what comes back), ``notebook_state``, ``parked`` and ``state_relay`` (what is saved), ``completion`` (the tab key).
The worker's side is ``_worker/cell``; how variables travel, ``_common/bundle``.
"""
