"""Bounds on metrics over every list of labels that an envelope allows.

F positives are in the list, M misses are not, P = F + M.
"""
