"""Slices of a ranking: the items that share a value of some column, each a ranking of its own in the list's order."""
