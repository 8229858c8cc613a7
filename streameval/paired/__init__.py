"""Ranking B against ranking A of the same items: bounds on how many more positives its top holds, from labels.

Only items that one top holds and the other does not need labels: **gains** (in the top of B alone) and **losses** (in
that of A alone). The difference D of a cutoff is the positives among its gains less those among its losses. Gains and
losses are drawn by a hash of their keys, `u < probability`, one u for all cutoffs. Nothing is assumed of labels, ranks
and scores; cutoffs, probabilities and all else here are fixed without u and without any label that is drawn by it.

`rates` says with which probability to draw. `count` bounds D by exact tails from one look at the planned sample, `bet`
at any time while labels come in, and `looks` shares the error between the two. `samples` are those of all cutoffs, from
one draw.
"""
