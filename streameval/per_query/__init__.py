"""Many rankings at once: a list for every query or user, measured one by one in memory that does not grow with them.

`batches` reads rows of any rankings; `adjacent` measures those whose rows are stored together, in one stream, and
`scattered` all others: their rows are parted by ranking into a scratch file, never sorted as a whole, and those of one
that memory does not hold by score. `positives` reads those beside the list. `measured` is what comes of
some rankings, `sums` what is kept of all of them. `draw` and `bounds` know the means from labels of a few rankings,
with what a judge predicts of all (`predicted`), or with positives that are known from elsewhere (`positives`).
"""

from __future__ import annotations
