"""Programs that are copied beside a batch run's script. They run where there may be no pounce, so they import nothing of it."""
