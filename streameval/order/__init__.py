"""The rank of any item of a list that is ordered by score: found by counting scans, wherever its rows lie, unsorted.

- `scores`: a score column as integers whose order is the ranking's; `tie_hashes`: what tells equal scores apart;
  `item_keys`: which columns may do so.
- `first_bins`, `finer_bins`: monotone bins of that order; `scan`: the units that a scan reads.
- `tasks`: what one scan does, as jobs of `scans`.
- `early_candidates`: likely candidates, kept while bins are counted; `skip_by_statistics`: what need not be read.
- `locate`: the stored position of every wanted rank (`search` holds its state, `select_candidates` its last step).
- `by_score`: the order itself, with what it takes; `count_at_score`: how many items have a score or a better one.
"""
