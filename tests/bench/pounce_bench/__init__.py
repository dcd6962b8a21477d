"""``pounce-bench``: what pounce costs on this machine, compared with floors and peers in one run, by turns."""
