"""The smallest program: one function, run elsewhere."""

import pounce

with pounce.Client() as client:
    print(client.submit(pow, 2, 10).result())
