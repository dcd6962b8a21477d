"""Habits that hold GPUs without use, found in a site's past (docs/insight.md, "Antipatterns").

``rules`` are thresholds and exceptions from files, ``evidence`` says what is known of a job and how sure that is.
``holds``, ``sizes`` and ``series`` decide of jobs and read nothing; ``judge`` gives them one person's jobs. ``typed``
changes a command line that was typed. ``rows`` reads the jobs, ``shown`` shows what was found, ``hints`` chooses one of
them for a day. ``command`` is ``pouncectl antipatterns``.
"""
