"""``pouncectl metrics``: figures for Prometheus, of one person's own pounced or of the whole site (docs/prometheus.md).

``families`` describes each metric once. ``own`` makes values of pounced's status document, ``counted`` what has to be
counted over many such documents, ``site`` makes them of Slurm's queue and accounting. ``collector`` asks the sources,
``exposition`` writes the text with prometheus_client, ``server`` and ``textfile`` give it away.
"""
