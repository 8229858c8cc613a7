"""The rank of any item of a list that is ordered by score: found by counting scans, wherever its rows lie, unsorted.

- `scores`: a score column as integers whose order is the ranking's; `item_keys`: which columns may tell
  equal scores apart.
- `bins`: monotone bins of that order; `scan`: the units that a scan reads, and which it need not read; tie hashes.
- `tasks`: what one scan does, as jobs of `scans`.
- `early_candidates`: likely candidates, kept while bins are counted.
- `locate`: the stored position of every wanted rank.
- `by_score`: the order itself, with what it takes; `count_at_score`: how many items have a score or a better one.
"""
