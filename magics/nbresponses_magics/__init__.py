"""The IPython surface of nbresponses: the magics."""
