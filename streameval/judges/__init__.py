"""Judges: a model or a rule that says of every item of a list, or of a sample, whether it is positive.

`values` reads what one says, and puts it into classes by thresholds; `classes` keeps in a plan which items are in
which; `estimate` is the estimated yield where every class has rates of its own. Above this room `slices` reads the
column of a list, and `study` hands out the sample that a judge is asked about.
"""
