"""The page of ``pouncectl usage page``: what a store has of a span, as one HTML file without a script.

``sums`` reads the store, ``waits`` and ``leases`` sum jobs. ``used`` and ``waiting`` say what is shown and in which
words, ``contents`` in which order. ``drawing`` makes SVG, ``document`` HTML. ``command`` is the command line, and
``server`` what ``--serve`` listens with.
"""
