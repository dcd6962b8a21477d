"""How far a task is, as this process sees it while the task runs."""
