"""Settings of a process that no variable holds, of Python and of libraries.

They follow the notebook to its workers (``_engine/changed_settings.py``), and a namespace from one worker to the next
(``_worker/state/process_state.py``). ``table`` has a row for each kind; ``setting`` is what a row is; the other modules
read and write those whose functions do not fit into a row.
"""
