"""``pounce-bench``: what pounce costs on this machine, beside floors and beside others, measured turn about in one run."""
