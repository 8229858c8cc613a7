"""Labels: tables of votes as people bring them, and the label that follows for every planned rank.

`reading` joins a table to the plan (`columns`, `expressions`, `match_items`, `known_rows` and `join_to_list` find the
column, the value and the item of a row), `fates` decides which rows count, and `tally` makes labels of them by `rules`.
`sources` and `answers` say who answered, `issues` what is not as it should be.
"""
