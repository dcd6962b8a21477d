"""A namespace to a folder and back in another process: same names, values, identities and shared memory."""
