"""The cell: ``%%pounce`` runs a notebook cell on a worker as if it ran here. This is the kernel's side of it.

- ``magic``, ``verbs``, ``completion``: what the user types. ``stop``: the stop button.
- ``options_line``, ``names``, ``ledger``: what to send. ``remote``, ``workers``, ``successors``: the exchange.
- ``hold``, ``holding``, ``held_cells``: a worker that stays.
- ``background``, ``traceback``: what comes back.
- ``waits``: what a cell that waits could do instead; who tells of it.
- ``look``: completion and inspection. ``timings``: where a cell's time went.
- ``notebook_state``, ``saved_states``, ``state_transfer``: what is saved.

The worker's side is ``_worker/cell``; ``_common/bundle`` carries the variables.
"""
