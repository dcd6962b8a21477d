"""The kernel's side of a client, below the public modules: what `import pounce` shows stands in the folder above."""
