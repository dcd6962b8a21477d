"""Programs that are copied beside a batch run's script. They do not import pounce, which may not be installed there."""
